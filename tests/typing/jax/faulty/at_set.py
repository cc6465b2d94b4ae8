"""Write the first row: the row is as long as the column."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def first(x: Float[Array, "n 4"], row: Float[Array, " 4"]) -> Float[Array, "n 4"]:
    return x.at[:, 0].set(row)  # shape: 4


print(first(jnp.ones((3, 4)), jnp.ones(4)).shape)
