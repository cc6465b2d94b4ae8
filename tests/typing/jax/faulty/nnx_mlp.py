"""A network of Flax: the second layer reads another size."""

import jax.numpy as jnp
from flax import nnx
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

class Network(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.first = nnx.Linear(784, 128, rngs=rngs)
        self.second = nnx.Linear(64, 10, rngs=rngs)

    @jaxtyped(typechecker=beartype)
    def __call__(self, x: Float[Array, "batch 784"]) -> Float[Array, "batch 10"]:
        return self.second(nnx.relu(self.first(x)))  # shape: 64 128


print(Network(nnx.Rngs(0))(jnp.ones((3, 784))).shape)
