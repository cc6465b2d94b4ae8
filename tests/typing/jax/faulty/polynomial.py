"""Powers of numbers in columns: stacked as rows."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def powers(x: Float[Array, " n"]) -> Float[Array, "n 4"]:
    return jnp.stack([x**0, x, x**2, x**3], axis=0)  # shape: n 4


print(powers(jnp.ones(5)).shape)
