"""Scores of a critic."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def critic(x: Float[Array, "batch 16"], w: Float[Array, "16 1"]) -> Float[Array, " batch"]:
    return jnp.squeeze(x @ w, axis=-1)


print(critic(jnp.ones((7, 16)), jnp.ones((16, 1))).shape)
