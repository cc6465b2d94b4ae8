"""A convolution of images, channels last."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def conv(images: Float[Array, "batch 32 32 3"], kernels: Float[Array, "5 5 3 8"]) -> Float[Array, "batch 32 32 8"]:
    return jax.lax.conv_general_dilated(
        images, kernels, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


print(conv(jnp.ones((2, 32, 32, 3)), jnp.ones((5, 5, 3, 8))).shape)
