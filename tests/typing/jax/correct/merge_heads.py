"""Put heads back together."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def merge(x: Float[Array, "batch 8 time 12"]) -> Float[Array, "batch time 96"]:
    x = jnp.swapaxes(x, 1, 2)
    return x.reshape(*x.shape[:2], 96)


print(merge(jnp.ones((2, 8, 3, 12))).shape)
