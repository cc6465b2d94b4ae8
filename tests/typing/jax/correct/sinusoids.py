"""Sines and cosines of positions."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def sinusoids(time: Float[Array, " time"], frequencies: Float[Array, " half"]) -> Float[Array, "time 2*half"]:
    angles = time[:, None] * frequencies[None, :]
    return jnp.concatenate([jnp.sin(angles), jnp.cos(angles)], axis=-1)


print(sinusoids(jnp.arange(5.0), jnp.ones(4)).shape)
