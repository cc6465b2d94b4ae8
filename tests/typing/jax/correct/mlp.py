"""Two dense layers on images in rows."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def forward(
    x: Float[Array, "batch 784"], w1: Float[Array, "784 128"], b1: Float[Array, " 128"], w2: Float[Array, "128 10"]
) -> Float[Array, "batch 10"]:
    hidden = jax.nn.relu(x @ w1 + b1)
    return hidden @ w2


print(forward(jnp.ones((4, 784)), jnp.ones((784, 128)), jnp.zeros(128), jnp.ones((128, 10))).shape)
