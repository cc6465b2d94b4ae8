"""The derivative of a mean: the mean is forgotten."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def slopes(x: Float[Array, " 6"]) -> Float[Array, " 6"]:
    return jax.grad(lambda z: jnp.sin(z))(x)  # shape: grad one number


print(slopes(jnp.ones(6)).shape)
