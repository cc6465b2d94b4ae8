"""A jitted layer."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jax.jit
@jaxtyped(typechecker=beartype)
def layer(x: Float[Array, "batch 6"], w: Float[Array, "6 3"]) -> Float[Array, "batch 3"]:
    return jax.nn.gelu(x @ w)


@jaxtyped(typechecker=beartype)
def twice(x: Float[Array, "batch 6"], w: Float[Array, "6 3"]) -> Float[Array, "batch 3"]:
    return 2 * layer(x, w)


print(twice(jnp.ones((2, 6)), jnp.ones((6, 3))).shape)
