"""A jitted step of training: the batch has other features."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def loss(model: eqx.nn.Linear, x: Float[Array, "batch 6"], y: Float[Array, "batch 2"]) -> Float[Array, ""]:
    return jnp.mean((jax.vmap(model)(x) - y) ** 2)


@eqx.filter_jit
@jaxtyped(typechecker=beartype)
def evaluate(model: eqx.nn.Linear, x: Float[Array, "batch 6"], y: Float[Array, "batch 2"]) -> Float[Array, ""]:
    return loss(model, x, y)


print(evaluate(eqx.nn.Linear(6, 2, key=jax.random.key(0)), jnp.ones((3, 6)), jnp.ones((4, 2))))  # shape: 3 4
