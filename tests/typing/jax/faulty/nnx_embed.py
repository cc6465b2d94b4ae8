"""Tokens through Flax: the norm has another size."""

import jax.numpy as jnp
from flax import nnx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

class Encoder(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.table = nnx.Embed(100, 32, rngs=rngs)
        self.norm = nnx.LayerNorm(64, rngs=rngs)

    @jaxtyped(typechecker=beartype)
    def __call__(self, tokens: Int[Array, "batch time"]) -> Float[Array, "batch time 32"]:
        return self.norm(self.table(tokens))  # shape: 32 64


print(Encoder(nnx.Rngs(0))(jnp.zeros((2, 5), jnp.int32)).shape)
