"""All distances by two vmaps."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def distance(a: Float[Array, " dim"], b: Float[Array, " dim"]) -> Float[Array, ""]:
    return jnp.sqrt(jnp.sum((a - b) ** 2))


@jaxtyped(typechecker=beartype)
def distances(xs: Float[Array, "n dim"], ys: Float[Array, "m dim"]) -> Float[Array, "n m"]:
    return jax.vmap(lambda x: jax.vmap(lambda y: distance(x, y))(ys))(xs)


print(distances(jnp.ones((3, 2)), jnp.ones((4, 2))).shape)
