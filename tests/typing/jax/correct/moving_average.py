"""A moving average."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def average(x: Float[Array, " 100"]) -> Float[Array, " 96"]:
    return jnp.convolve(x, jnp.ones(5) / 5, mode="valid")


print(average(jnp.ones(100)).shape)
