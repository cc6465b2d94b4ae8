"""A recurrent network by scan."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def run(
    xs: Float[Array, "time 8"], h0: Float[Array, " 16"], w: Float[Array, "8 16"], u: Float[Array, "16 16"]
) -> Float[Array, "time 16"]:
    def step(h: Float[Array, " 16"], x: Float[Array, " 8"]) -> tuple[Float[Array, " 16"], Float[Array, " 16"]]:
        h = jnp.tanh(x @ w + h @ u)
        return h, h

    _, states = jax.lax.scan(step, h0, xs)
    return states


print(run(jnp.ones((5, 8)), jnp.zeros(16), jnp.ones((8, 16)), jnp.ones((16, 16))).shape)
