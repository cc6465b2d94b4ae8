"""A step of gradient descent: the gradient is taken by the data."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def loss(w: Float[Array, "3 2"], x: Float[Array, "batch 3"]) -> Float[Array, ""]:
    return jnp.mean((x @ w) ** 2)


@jaxtyped(typechecker=beartype)
def step(w: Float[Array, "3 2"], x: Float[Array, "batch 3"]) -> Float[Array, "3 2"]:
    return w - 0.1 * jax.grad(loss, argnums=1)(w, x)  # shape: 3 batch


print(step(jnp.ones((3, 2)), jnp.ones((5, 3))).shape)
