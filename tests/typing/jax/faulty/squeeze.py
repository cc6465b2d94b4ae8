"""Scores of a critic: the batch is squeezed, not the last axis."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def critic(x: Float[Array, "batch 16"], w: Float[Array, "16 1"]) -> Float[Array, " batch"]:
    return x @ w  # shape: axis axes


print(critic(jnp.ones((7, 16)), jnp.ones((16, 1))).shape)
