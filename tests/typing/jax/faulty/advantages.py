"""Discounted returns, last first: rewards are reversed along the wrong axis."""

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

    _, totals = jax.lax.scan(step, jnp.zeros(rewards.shape[0]), rewards, reverse=True)  # shape: envs time
    return totals


print(returns(jnp.ones((6, 2))).shape)
