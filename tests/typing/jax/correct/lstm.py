"""One step of an LSTM."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def lstm(
    c: Float[Array, " 16"], h: Float[Array, " 16"], x: Float[Array, " 8"], w: Float[Array, "24 64"]
) -> tuple[Float[Array, " 16"], Float[Array, " 16"]]:
    gates = jnp.concatenate([x, h]) @ w
    i, f, g, o = jnp.split(gates, 4)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    return c, jax.nn.sigmoid(o) * jnp.tanh(c)


print(lstm(jnp.ones(16), jnp.ones(16), jnp.ones(8), jnp.ones((24, 64)))[0].shape)
