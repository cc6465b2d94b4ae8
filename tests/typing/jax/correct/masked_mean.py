"""The mean of the valid steps."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Bool, Float, jaxtyped

@jaxtyped(typechecker=beartype)
def pooled(x: Float[Array, "batch time 32"], mask: Bool[Array, "batch time"]) -> Float[Array, "batch 32"]:
    weights = mask[..., None].astype(jnp.float32)
    return (x * weights).sum(axis=1) / jnp.maximum(weights.sum(axis=1), 1.0)


print(pooled(jnp.ones((2, 5, 32)), jnp.ones((2, 5), bool)).shape)
