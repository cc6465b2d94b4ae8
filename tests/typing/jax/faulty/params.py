"""A network with its weights in a NamedTuple: the layers are swapped."""

import jax.numpy as jnp
from typing import NamedTuple
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

class Params(NamedTuple):
    w1: Float[Array, "8 32"]
    w2: Float[Array, "32 4"]


@jaxtyped(typechecker=beartype)
def forward(params: Params, x: Float[Array, "batch 8"]) -> Float[Array, "batch 4"]:
    x = jnp.tanh(x @ params.w2)  # shape: 8 32
    return x @ params.w2


print(forward(Params(jnp.ones((8, 32)), jnp.ones((32, 4))), jnp.ones((5, 8))).shape)
