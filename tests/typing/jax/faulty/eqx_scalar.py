"""A value of a state: one number in an axis, not a scalar."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def value(state: Float[Array, " 8"], key: Key[Array, ""]) -> Float[Array, ""]:
    head = eqx.nn.Linear(8, 1, key=key)
    return head(state)  # shape: axes 1


print(value(jnp.ones(8), jax.random.key(0)))
