"""Self-attention of Equinox."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def attend(x: Float[Array, "time 32"], key: Key[Array, ""]) -> Float[Array, "time 32"]:
    attention = eqx.nn.MultiheadAttention(4, 32, key=key)
    return x + attention(x, x, x)


print(attend(jnp.ones((5, 32)), jax.random.key(0)).shape)
