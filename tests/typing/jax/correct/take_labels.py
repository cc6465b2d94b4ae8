"""The log-probability of each label."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

@jaxtyped(typechecker=beartype)
def nll(log_probs: Float[Array, "batch classes"], labels: Int[Array, " batch"]) -> Float[Array, " batch"]:
    picked = jnp.take_along_axis(log_probs, labels[:, None], axis=1)
    return -picked.squeeze(1)


print(nll(jnp.ones((4, 10)), jnp.zeros(4, jnp.int32)).shape)
