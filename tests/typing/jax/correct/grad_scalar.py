"""The derivative of a mean."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def slopes(x: Float[Array, " 6"]) -> Float[Array, " 6"]:
    return jax.grad(lambda z: jnp.mean(jnp.sin(z)))(x)


print(slopes(jnp.ones(6)).shape)
