"""A square root by a while loop."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def root(x: Float[Array, ""]) -> Float[Array, ""]:
    return jax.lax.while_loop(lambda r: jnp.abs(r * r - x) > 1e-3, lambda r: 0.5 * (r + x / r), x)


print(root(jnp.array(2.0)))
