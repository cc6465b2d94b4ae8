"""Weights of a layer: rows and columns are swapped."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def weights(key: Key[Array, ""]) -> tuple[Float[Array, "784 128"], Float[Array, " 128"]]:
    w = jax.random.normal(key, (128, 784)) * 0.01
    return w, jnp.zeros(128)  # shape: 784 128


print(weights(jax.random.key(0))[0].shape)
