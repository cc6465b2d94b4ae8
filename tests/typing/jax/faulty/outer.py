"""Pairwise interactions: dot in place of outer."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def interactions(a: Float[Array, " n"], b: Float[Array, " m"]) -> Float[Array, "n m"]:
    return jnp.dot(a, b)  # shape: n m


print(interactions(jnp.ones(3), jnp.ones(4)).shape)
