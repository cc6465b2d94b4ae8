"""The largest eigenvector by a loop."""

import jax
import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

@jaxtyped(typechecker=beartype)
def leading(a: Float[Array, "n n"], start: Float[Array, " n"]) -> Float[Array, " n"]:
    def body(i: Int[Array, ""], v: Float[Array, " n"]) -> Float[Array, " n"]:
        v = a @ v
        return v / jnp.linalg.norm(v)

    return jax.lax.fori_loop(0, 20, body, start)


print(leading(jnp.eye(4), jnp.ones(4)).shape)
