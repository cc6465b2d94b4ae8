"""Project points on the first directions: directions are columns, not rows."""

import jax.numpy as jnp
from beartype import beartype
from jax import Array
from jaxtyping import Float, jaxtyped

@jaxtyped(typechecker=beartype)
def project(x: Float[Array, "n 20"]) -> Float[Array, "n 2"]:
    centred = x - x.mean(axis=0)
    _, _, directions = jnp.linalg.svd(centred, full_matrices=False)
    return centred @ directions[:2]  # shape: 20


print(project(jnp.ones((30, 20))).shape)
