"""A network of Flax."""

import jax.numpy as jnp
from flax import nnx
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

class Network(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(784, 128, rngs=rngs)
        self.second = nnx.Linear(128, 10, rngs=rngs)

    @jaxtyped(typechecker=beartype)
    def __call__(self, x: Float[Array, "batch 784"]) -> Float[Array, "batch 10"]:
        return self.second(nnx.relu(self.first(x)))


print(Network(nnx.Rngs(0))(jnp.ones((3, 784))).shape)
