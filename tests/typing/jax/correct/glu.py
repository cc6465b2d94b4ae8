"""A gated layer."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def gated(x: Float[Array, "batch 16"], w: Float[Array, "16 64"], out: Float[Array, "32 16"]) -> Float[Array, "batch 16"]:
    return jax.nn.glu(x @ w, axis=-1) @ out


print(gated(jnp.ones((3, 16)), jnp.ones((16, 64)), jnp.ones((32, 16))).shape)
