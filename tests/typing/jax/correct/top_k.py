"""The best tokens and their values."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

@jaxtyped(typechecker=beartype)
def best(logits: Float[Array, "batch 100"]) -> tuple[Float[Array, "batch 5"], Int[Array, "batch 5"]]:
    values, places = jax.lax.top_k(logits, 5)
    return values, places


print(best(jnp.ones((3, 100)))[0].shape)
