"""A running sum by scan."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def totals(xs: Float[Array, "time 3"]) -> Float[Array, " 3"]:
    total, _ = jax.lax.scan(lambda total, x: (total + x, None), jnp.zeros(3), xs)
    return total


print(totals(jnp.ones((5, 3))).shape)
