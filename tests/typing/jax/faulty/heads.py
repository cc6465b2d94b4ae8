"""Attention of several heads by einsum: weights meet the values by the wrong axis."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def attend(
    q: Float[Array, "batch time heads dim"], k: Float[Array, "batch source heads dim"],
    v: Float[Array, "batch source heads dim"],
) -> Float[Array, "batch time heads dim"]:
    scores = jnp.einsum("bthd,bshd->bhts", q, k)
    weights = jax.nn.softmax(scores, axis=-1)
    return jnp.einsum("bhts,bthd->bshd", weights, v)  # shape: time source


print(attend(jnp.ones((2, 3, 4, 5)), jnp.ones((2, 6, 4, 5)), jnp.ones((2, 6, 4, 5))).shape)
