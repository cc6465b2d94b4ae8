"""Log-likelihood of a mixture."""

import jax
import jax.numpy as jnp
import jax.scipy.special
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def likelihood(x: Float[Array, " n"], means: Float[Array, " k"], log_weights: Float[Array, " k"]) -> Float[Array, " n"]:
    log_probs = -0.5 * (x[:, None] - means) ** 2 + log_weights
    return jax.scipy.special.logsumexp(log_probs, axis=1)


print(likelihood(jnp.ones(9), jnp.ones(3), jnp.ones(3)).shape)
