"""A bias in lax's own functions: lax does not broadcast a vector."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def biased(x: Float[Array, "batch 4"], b: Float[Array, " 4"]) -> Float[Array, "batch 4"]:
    return jax.lax.add(x, b)  # shape: lax axes


print(biased(jnp.ones((3, 4)), jnp.ones(4)).shape)
