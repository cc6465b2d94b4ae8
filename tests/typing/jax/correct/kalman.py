"""The prediction of a Kalman filter."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def predict(
    p: Float[Array, "state state"], f: Float[Array, "state state"], q: Float[Array, "state state"], h: Float[Array, "obs state"]
) -> Float[Array, "obs obs"]:
    p = f @ p @ f.T + q
    return h @ p @ h.T


print(predict(jnp.eye(4), jnp.eye(4), jnp.eye(4), jnp.ones((2, 4))).shape)
