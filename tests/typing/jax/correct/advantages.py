"""Discounted returns, last first."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def returns(rewards: Float[Array, "time envs"]) -> Float[Array, "time envs"]:
    def step(after: Float[Array, " envs"], reward: Float[Array, " envs"]) -> tuple[Float[Array, " envs"], Float[Array, " envs"]]:
        total = reward + 0.99 * after
        return total, total

    _, totals = jax.lax.scan(step, jnp.zeros(rewards.shape[1]), rewards, reverse=True)
    return totals


print(returns(jnp.ones((6, 2))).shape)
