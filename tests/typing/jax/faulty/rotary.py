"""Rotate pairs of features: halves of the wrong size."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def rotate(x: Float[Array, "time 64"], angles: Float[Array, "time 32"]) -> Float[Array, "time 64"]:
    a, b = jnp.split(x, [16], axis=-1)
    sin, cos = jnp.sin(angles), jnp.cos(angles)
    return jnp.concatenate([a * cos - b * sin, a * sin + b * cos], axis=-1)  # shape: 16 32


print(rotate(jnp.ones((5, 64)), jnp.ones((5, 32))).shape)
