"""Draw a token from logits: along the batch."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def draw(key: Key[Array, ""], logits: Float[Array, "batch vocab"]) -> Int[Array, " batch"]:
    return jax.random.categorical(key, logits, axis=0)  # shape: batch vocab


print(draw(jax.random.key(0), jnp.ones((3, 7))).shape)
