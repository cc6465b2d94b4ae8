"""A convolution of images, channels last: the window is valid, not the same."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def conv(images: Float[Array, "batch 32 32 3"], kernels: Float[Array, "5 5 3 8"]) -> Float[Array, "batch 32 32 8"]:
    return jax.lax.conv_general_dilated(  # shape: 32 28
        images, kernels, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )


print(conv(jnp.ones((2, 32, 32, 3)), jnp.ones((5, 5, 3, 8))).shape)
