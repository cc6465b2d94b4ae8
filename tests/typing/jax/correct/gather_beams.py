"""Reorder the beams of a search."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Int, jaxtyped

@jaxtyped(typechecker=beartype)
def reorder(tokens: Int[Array, "batch beams time"], order: Int[Array, "batch beams"]) -> Int[Array, "batch beams time"]:
    return jnp.take_along_axis(tokens, order[..., None], axis=1)


print(reorder(jnp.zeros((2, 3, 4), jnp.int32), jnp.zeros((2, 3), jnp.int32)).shape)
