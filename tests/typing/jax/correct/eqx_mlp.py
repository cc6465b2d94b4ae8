"""A network of Equinox on a batch."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

class Network(eqx.Module):
    first: eqx.nn.Linear
    second: eqx.nn.Linear

    def __init__(self, key: Key[Array, ""]) -> None:
        one, two = jax.random.split(key)
        self.first = eqx.nn.Linear(784, 128, key=one)
        self.second = eqx.nn.Linear(128, 10, key=two)

    @jaxtyped(typechecker=beartype)
    def __call__(self, x: Float[Array, " 784"]) -> Float[Array, " 10"]:
        return self.second(jax.nn.relu(self.first(x)))


print(jax.vmap(Network(jax.random.key(0)))(jnp.ones((3, 784))).shape)
