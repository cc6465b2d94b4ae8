"""A jitted function with a static number: the result has one class too few."""

import jax
import jax.numpy as jnp
from functools import partial
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

@partial(jax.jit, static_argnames=["classes"])
def encode(labels: Int[Array, " batch"], classes: int) -> Float[Array, "batch {classes}"]:
    return jax.nn.one_hot(labels, classes)


@jaxtyped(typechecker=beartype)
def ten(labels: Int[Array, " batch"]) -> Float[Array, "batch 10"]:
    return encode(labels, 9)  # shape: 10 9


print(ten(jnp.zeros(3, jnp.int32)).shape)
