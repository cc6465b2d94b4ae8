"""A layer of one's own."""

import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

class Affine(eqx.Module):
    weight: Float[Array, "4 3"]
    bias: Float[Array, " 4"]

    @jaxtyped(typechecker=beartype)
    def __call__(self, x: Float[Array, " 3"]) -> Float[Array, " 4"]:
        return self.weight @ x + self.bias


layer = Affine(jnp.ones((4, 3)), jnp.zeros(4))
print(layer(jnp.ones(3)).shape)
