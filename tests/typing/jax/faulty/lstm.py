"""One step of an LSTM: input and state are stacked, not joined."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def lstm(
    c: Float[Array, " 16"], h: Float[Array, " 16"], x: Float[Array, " 8"], w: Float[Array, "24 64"]
) -> tuple[Float[Array, " 16"], Float[Array, " 16"]]:
    gates = jnp.stack([x, h]) @ w  # shape: 8 16
    i, f, g, o = jnp.split(gates, 4)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return c, jax.nn.sigmoid(o) * jnp.tanh(c)


print(lstm(jnp.ones(16), jnp.ones(16), jnp.ones(8), jnp.ones((24, 64)))[0].shape)
