"""A residual block of Equinox: the norm is as long as the hidden layer."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

class Block(eqx.Module):
    norm: eqx.nn.LayerNorm
    layers: eqx.nn.MLP

    def __init__(self, key: Key[Array, ""]) -> None:
        self.norm = eqx.nn.LayerNorm(64)
        self.layers = eqx.nn.MLP(32, 32, 64, 1, key=key)

    @jaxtyped(typechecker=beartype)
    def __call__(self, x: Float[Array, " 32"]) -> Float[Array, " 32"]:
        return x + self.layers(self.norm(x))  # shape: 32 64


print(Block(jax.random.key(0))(jnp.ones(32)).shape)
