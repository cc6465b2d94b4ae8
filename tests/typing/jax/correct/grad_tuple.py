"""Derivatives by two arguments."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def loss(w: Float[Array, "3 2"], b: Float[Array, " 2"], x: Float[Array, "batch 3"]) -> Float[Array, ""]:
    return jnp.sum(jax.nn.softplus(x @ w + b))


@jaxtyped(typechecker=beartype)
def update(w: Float[Array, "3 2"], b: Float[Array, " 2"], x: Float[Array, "batch 3"]) -> Float[Array, "3 2"]:
    dw, db = jax.grad(loss, argnums=(0, 1))(w, b, x)
    print(b - db, dw)
    return w - 0.1 * dw


print(update(jnp.ones((3, 2)), jnp.ones(2), jnp.ones((4, 3))).shape)
