"""A convolution of Equinox on one image."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def features(image: Float[Array, "3 32 32"], key: Key[Array, ""]) -> Float[Array, "16 height width"]:
    conv = eqx.nn.Conv2d(3, 16, kernel_size=3, key=key)
    return jax.nn.relu(conv(image))


print(features(jnp.ones((3, 32, 32)), jax.random.key(0)).shape)
