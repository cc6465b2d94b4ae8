"""Euler steps of an oscillator: the state becomes a matrix."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def simulate(state: Float[Array, " 2"], a: Float[Array, "2 2"]) -> Float[Array, " 2"]:
    return jax.lax.fori_loop(0, 100, lambda i, s: s + 0.01 * a, state)  # shape: fori_loop carry


print(simulate(jnp.ones(2), jnp.eye(2)).shape)
