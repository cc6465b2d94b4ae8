"""A sample of a normal distribution: the noise is as long as the inputs."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def sample(key: Key[Array, ""], mean: Float[Array, "batch latent"], log_std: Float[Array, "batch latent"]) -> Float[Array, "batch latent"]:
    noise = jax.random.normal(key, mean.shape[::-1])
    return mean + jnp.exp(log_std) * noise  # shape: latent batch


print(sample(jax.random.key(0), jnp.zeros((3, 2)), jnp.zeros((3, 2))).shape)
