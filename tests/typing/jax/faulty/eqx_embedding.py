"""Tokens of a sentence: vmap is forgotten."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def embed(tokens: Int[Array, " time"], key: Key[Array, ""]) -> Float[Array, "time 8"]:
    table = eqx.nn.Embedding(100, 8, key=key)
    return table(tokens)  # shape: Embedding time


print(embed(jnp.zeros(5, jnp.int32), jax.random.key(0)).shape)
