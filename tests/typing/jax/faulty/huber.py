"""Errors of predictions: targets are columns."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def errors(prediction: Float[Array, " batch"], target: Float[Array, " batch"]) -> Float[Array, " batch"]:
    difference = jnp.abs(prediction - target[:, None])
    return jnp.where(difference < 1, 0.5 * difference**2, difference - 0.5)  # shape: batch axes


print(errors(jnp.ones(5), jnp.ones(5)).shape)
