"""The window of a series at a place."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

@jaxtyped(typechecker=beartype)
def window(series: Float[Array, "time 3"], start: Int[Array, ""]) -> Float[Array, "16 3"]:
    return jax.lax.dynamic_slice_in_dim(series, start, 16, axis=0)


print(window(jnp.ones((50, 3)), jnp.array(4)).shape)
