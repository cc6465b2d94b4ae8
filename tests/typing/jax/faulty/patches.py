"""Images to rows of patches: a patch has a channel less."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def patches(x: Float[Array, "batch 32 32 3"]) -> Float[Array, "batch 64 48"]:
    x = x.reshape(-1, 8, 4, 8, 4, 3)
    x = jnp.transpose(x, (0, 1, 3, 2, 4, 5))
    return x.reshape(x.shape[0], 64, 32)  # shape: elements


print(patches(jnp.ones((2, 32, 32, 3))).shape)
