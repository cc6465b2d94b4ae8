"""One forward."""

import numpy as np
from jaxtyping import Float

from package_heads.heads import Probabilities
from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
body = Linear(9, 20, rng=rng)
head = Probabilities(rng)


def predict(x: Float[Array2, "batch 9"]) -> Float[Array2, "batch 5"]:
    return head.forward(body.forward(x))


if __name__ == "__main__":
    print(predict(np.ones((2, 9), np.float32)).shape)
