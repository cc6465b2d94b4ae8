"""Clip or keep: one branch sums."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def limited(x: Float[Array, " n"]) -> Float[Array, " n"]:
    return jax.lax.cond(jnp.max(x) > 1.0, lambda y: jnp.clip(y, 0.0, 1.0), lambda y: y.sum(), x)  # shape: cond branches


print(limited(jnp.ones(4)).shape)
