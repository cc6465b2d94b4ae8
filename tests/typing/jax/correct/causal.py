"""A causal mask for scores."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def masked(scores: Float[Array, "batch time time"]) -> Float[Array, "batch time time"]:
    mask = jnp.tril(jnp.ones((scores.shape[1], scores.shape[1]), dtype=bool))
    return jnp.where(mask, scores, -1e9)


print(masked(jnp.ones((2, 5, 5))).shape)
