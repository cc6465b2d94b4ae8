"""A matrix in a module: applied from the left."""

import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

class Projection(eqx.Module):
    weight: Float[Array, "16 8"]

    @jaxtyped(typechecker=beartype)
    def __call__(self, x: Float[Array, "time 16"]) -> Float[Array, "time 8"]:
        return self.weight @ x  # shape: 8 time


print(Projection(jnp.ones((16, 8)))(jnp.ones((5, 16))).shape)
