"""Normalise over features: the mean loses its axis."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def layer_norm(
    x: Float[Array, "batch features"], scale: Float[Array, " features"], bias: Float[Array, " features"]
) -> Float[Array, "batch features"]:
    mean = x.mean(axis=-1)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * scale + bias  # shape: features batch


print(layer_norm(jnp.ones((4, 8)), jnp.ones(8), jnp.zeros(8)).shape)
