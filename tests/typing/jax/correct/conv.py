"""A convolution of images, channels first."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def conv(images: Float[Array, "batch 3 32 32"], kernels: Float[Array, "8 3 5 5"]) -> Float[Array, "batch 8 28 28"]:
    return jax.lax.conv(images, kernels, (1, 1), "VALID")


print(conv(jnp.ones((2, 3, 32, 32)), jnp.ones((8, 3, 5, 5))).shape)
