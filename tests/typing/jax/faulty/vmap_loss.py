"""The mean loss of a batch by vmap: the weights are mapped too."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def loss(w: Float[Array, " features"], x: Float[Array, " features"], y: Float[Array, ""]) -> Float[Array, ""]:
    return (x @ w - y) ** 2


@jaxtyped(typechecker=beartype)
def total(w: Float[Array, " 5"], xs: Float[Array, "batch 5"], ys: Float[Array, " batch"]) -> Float[Array, ""]:
    return jnp.mean(jax.vmap(loss, in_axes=(0, 0, 0))(w, xs, ys))  # shape: vmap batch 5


print(total(jnp.ones(5), jnp.ones((7, 5)), jnp.ones(7)))
