"""Images that are laid flat by hand, for a layer that reads gray ones."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Linear

fc = Linear(784, 10, rng=np.random.default_rng(0))


def classify(images: Float[Array4, "batch 28 28 3"]) -> Float[Array2, "batch 10"]:
    rows = images.reshape(images.shape[0], -1)
    return fc.forward(rows)  # shape: expects 784 features, gets 2352


if __name__ == "__main__":
    classify(np.ones((2, 28, 28, 3), np.float32))
