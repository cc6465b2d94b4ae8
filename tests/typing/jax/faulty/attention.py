"""Scaled dot-product attention of one head: the keys are not transposed."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def attention(
    q: Float[Array, "time 64"], k: Float[Array, "source 64"], v: Float[Array, "source 64"]
) -> Float[Array, "time 64"]:
    scores = q @ k / jnp.sqrt(64.0)  # shape: 64 source
    weights = jax.nn.softmax(scores, axis=-1)
    return weights @ v


print(attention(jnp.ones((5, 64)), jnp.ones((7, 64)), jnp.ones((7, 64))).shape)
