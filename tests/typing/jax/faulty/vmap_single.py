"""A function of one image on many: jit, not vmap."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def flatten(image: Float[Array, "28 28"]) -> Float[Array, " 784"]:
    return image.reshape(784)


@jaxtyped(typechecker=beartype)
def rows(images: Float[Array, "batch 28 28"]) -> Float[Array, "batch 784"]:
    return jax.jit(flatten)(images)  # shape: 28 batch


print(rows(jnp.ones((3, 28, 28))).shape)
