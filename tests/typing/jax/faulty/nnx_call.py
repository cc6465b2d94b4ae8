"""A model of Flax: called with images, not rows."""

import jax.numpy as jnp
from flax import nnx
from beartype import beartype
from jax import Array
from jaxtyping import Float, Int, jaxtyped

class Classifier(nnx.Module):
    def __init__(self, rngs: nnx.Rngs) -> None:
        self.layer = nnx.Linear(784, 10, rngs=rngs)

    @jaxtyped(typechecker=beartype)
    def __call__(self, x: Float[Array, "batch 784"]) -> Float[Array, "batch 10"]:
        return self.layer(x)


@jaxtyped(typechecker=beartype)
def predict(model: Classifier, images: Float[Array, "batch 28 28"]) -> Int[Array, " batch"]:
    rows = images.reshape(images.shape[0], 784)
    return jnp.argmax(model(images), axis=-1)  # shape: 784 axes


print(predict(Classifier(nnx.Rngs(0)), jnp.ones((3, 28, 28))).shape)
