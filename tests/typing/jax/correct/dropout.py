"""Dropout by a mask."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def dropout(key: Key[Array, ""], x: Float[Array, "batch 128"]) -> Float[Array, "batch 128"]:
    keep = jax.random.bernoulli(key, 0.9, x.shape)
    return jnp.where(keep, x / 0.9, 0.0)


print(dropout(jax.random.key(0), jnp.ones((4, 128))).shape)
