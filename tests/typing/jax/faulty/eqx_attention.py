"""Self-attention of Equinox: its output has another size than the tokens."""

import jax
import jax.numpy as jnp
import equinox as eqx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Key, jaxtyped

@jaxtyped(typechecker=beartype)
def attend(x: Float[Array, "time 32"], key: Key[Array, ""]) -> Float[Array, "time 32"]:
    attention = eqx.nn.MultiheadAttention(4, 32, output_size=48, key=key)
    return x + attention(x, x, x)  # shape: 32 48


print(attend(jnp.ones((5, 32)), jax.random.key(0)).shape)
