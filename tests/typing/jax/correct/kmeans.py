"""The nearest centre of each point."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

@jaxtyped(typechecker=beartype)
def assign(points: Float[Array, "n dim"], centres: Float[Array, "k dim"]) -> Int[Array, " n"]:
    distances = jnp.sum((points[:, None] - centres[None]) ** 2, axis=-1)
    return jnp.argmin(distances, axis=1)


print(assign(jnp.ones((9, 2)), jnp.ones((3, 2))).shape)
