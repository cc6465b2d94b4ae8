"""Ridge regression."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def ridge(x: Float[Array, "n 6"], y: Float[Array, " n"]) -> Float[Array, " 6"]:
    gram = x.T @ x + 0.1 * jnp.eye(6)
    return jnp.linalg.solve(gram, x.T @ y)


print(ridge(jnp.ones((20, 6)), jnp.ones(20)).shape)
