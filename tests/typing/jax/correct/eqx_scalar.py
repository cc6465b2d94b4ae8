"""A value of a state."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def value(state: Float[Array, " 8"], key: Key[Array, ""]) -> Float[Array, ""]:
    head = eqx.nn.Linear(8, "scalar", key=key)
    return head(state)


print(value(jnp.ones(8), jax.random.key(0)))
