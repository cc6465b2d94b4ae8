"""Logits of pairs of images and texts."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def logits(images: Float[Array, "batch 64"], texts: Float[Array, "batch 64"]) -> Float[Array, "batch batch"]:
    images = images / jnp.linalg.norm(images, axis=-1, keepdims=True)
    texts = texts / jnp.linalg.norm(texts, axis=-1, keepdims=True)
    return images @ texts.T * 14.3


print(logits(jnp.ones((5, 64)), jnp.ones((5, 64))).shape)
