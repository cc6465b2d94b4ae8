"""Loss and gradient together."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def loss(w: Float[Array, " 4"], x: Float[Array, "batch 4"], y: Float[Array, " batch"]) -> Float[Array, ""]:
    return jnp.mean((x @ w - y) ** 2)


@jaxtyped(typechecker=beartype)
def update(w: Float[Array, " 4"], x: Float[Array, "batch 4"], y: Float[Array, " batch"]) -> Float[Array, " 4"]:
    value, gradient = jax.value_and_grad(loss)(w, x, y)
    print(value, gradient)
    return w - 0.1 * gradient


print(update(jnp.ones(4), jnp.ones((5, 4)), jnp.ones(5)).shape)
