"""Damp the high frequencies: the filter is as long as the signal."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def smooth(signal: Float[Array, "batch 256"], gains: Float[Array, " 129"]) -> Float[Array, "batch 256"]:
    spectrum = jnp.fft.fft(signal, axis=-1)
    return jnp.fft.irfft(spectrum * gains, n=256, axis=-1)  # shape: 256 129


print(smooth(jnp.ones((2, 256)), jnp.ones(129)).shape)
