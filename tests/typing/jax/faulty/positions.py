"""Add learned positions to tokens: positions are cut along features."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

@jaxtyped(typechecker=beartype)
def embed(
    tokens: Int[Array, "batch time"], table: Float[Array, "vocab 32"], positions: Float[Array, "512 32"]
) -> Float[Array, "batch time 32"]:
    x = table[tokens]
    return x + positions.T[: tokens.shape[1]]  # shape: 32 512


print(embed(jnp.zeros((2, 7), jnp.int32), jnp.ones((100, 32)), jnp.ones((512, 32))).shape)
