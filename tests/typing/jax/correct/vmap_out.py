"""A batch with its axis at the end."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def scaled(x: Float[Array, " 4"]) -> Float[Array, " 4"]:
    return x / jnp.linalg.norm(x)


@jaxtyped(typechecker=beartype)
def columns(xs: Float[Array, "batch 4"]) -> Float[Array, "4 batch"]:
    return jax.vmap(scaled, out_axes=1)(xs)


print(columns(jnp.ones((3, 4))).shape)
