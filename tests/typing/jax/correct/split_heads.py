"""Cut features into heads."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def split(x: Float[Array, "batch time 96"]) -> Float[Array, "batch 8 time 12"]:
    batch, time, _ = x.shape
    return x.reshape(batch, time, 8, 12).transpose(0, 2, 1, 3)


print(split(jnp.ones((2, 3, 96))).shape)
