"""One step of a gated recurrent unit: the gates are cut from the wrong axis."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def gru(
    h: Float[Array, "batch 32"], x: Float[Array, "batch 8"], wi: Float[Array, "8 96"], wh: Float[Array, "32 96"]
) -> Float[Array, "batch 32"]:
    ri, zi, ni = jnp.split(x @ wi, 3, axis=-1)
    rh, zh, nh = jnp.split(h @ wh, 2, axis=-1)  # shape: 2 3 names
    r, z = jax.nn.sigmoid(ri + rh), jax.nn.sigmoid(zi + zh)
    n = jnp.tanh(ni + r * nh)
    return (1 - z) * n + z * h


print(gru(jnp.ones((6, 32)), jnp.ones((6, 8)), jnp.ones((8, 96)), jnp.ones((32, 96))).shape)
