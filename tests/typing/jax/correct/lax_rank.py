"""A bias in lax's own functions."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def biased(x: Float[Array, "batch 4"], b: Float[Array, " 4"]) -> Float[Array, "batch 4"]:
    return jax.lax.add(x, jnp.broadcast_to(b, x.shape))


print(biased(jnp.ones((3, 4)), jnp.ones(4)).shape)
