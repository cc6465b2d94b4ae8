"""Dropout between layers of Flax: the sum is of other sizes."""

import jax.numpy as jnp
from flax import nnx
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

class Block(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.layer = nnx.Linear(16, 17, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)

    @jaxtyped(typechecker=beartype)
    def __call__(self, x: Float[Array, "batch 16"]) -> Float[Array, "batch 16"]:
        return x + self.dropout(self.layer(x))  # shape: 16 17


print(Block(nnx.Rngs(0))(jnp.ones((3, 16))).shape)
