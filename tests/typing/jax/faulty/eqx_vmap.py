"""A layer of Equinox on rows: vmap is forgotten."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def rows(x: Float[Array, "batch 16"]) -> Float[Array, "batch 4"]:
    layer = eqx.nn.Linear(16, 4, key=jax.random.key(0))
    return layer(x)  # shape: 16 batch


print(rows(jnp.ones((3, 16))).shape)
