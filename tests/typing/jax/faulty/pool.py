"""Mean of blocks of two by two: the blocks are averaged over the wrong axes."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def pool(x: Float[Array, "batch 28 28 c"]) -> Float[Array, "batch 14 14 c"]:
    return x.reshape(x.shape[0], 14, 2, 14, 2, x.shape[3]).mean(axis=(1, 4))  # shape: 14 2


print(pool(jnp.ones((2, 28, 28, 3))).shape)
