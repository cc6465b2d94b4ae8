"""Divide by the root mean square: the scale is as long as the batch."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def rms_norm(x: Float[Array, "batch time 64"], scale: Float[Array, " 64"]) -> Float[Array, "batch time 64"]:
    square = jnp.mean(jnp.square(x), axis=-1, keepdims=True)
    return x / jnp.sqrt(square + 1e-6) * scale[:, None]  # shape: 64 time


print(rms_norm(jnp.ones((2, 3, 64)), jnp.ones(64)).shape)
