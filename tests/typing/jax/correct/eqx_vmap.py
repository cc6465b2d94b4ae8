"""A layer of Equinox on rows."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def rows(x: Float[Array, "batch 16"]) -> Float[Array, "batch 4"]:
    layer = eqx.nn.Linear(16, 4, key=jax.random.key(0))
    return jax.vmap(layer)(x)


print(rows(jnp.ones((3, 16))).shape)
