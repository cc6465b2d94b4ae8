"""Add gradients to the rows that were read."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

@jaxtyped(typechecker=beartype)
def scatter(
    table: Float[Array, "vocab 16"], tokens: Int[Array, " n"], gradients: Float[Array, "n 16"]
) -> Float[Array, "vocab 16"]:
    return table.at[tokens].add(gradients)


print(scatter(jnp.ones((9, 16)), jnp.zeros(5, jnp.int32), jnp.ones((5, 16))).shape)
