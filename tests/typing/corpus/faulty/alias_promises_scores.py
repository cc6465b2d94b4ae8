"""Annotations by type alias; the function promises scores and gives features."""

from typing import TypeAlias

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Conv2d, Flatten

Images: TypeAlias = Float[Array4, "batch 28 28 1"]
Scores: TypeAlias = Float[Array2, "batch 10"]

rng = np.random.default_rng(0)
conv, flatten = Conv2d(1, 2, 9, stride=2, rng=rng), Flatten()


def predict(images: Images) -> Scores:
    """It runs all the same: nothing checks a plain function."""
    return flatten(conv(images))  # shape: 200


if __name__ == "__main__":
    print(predict(np.ones((3, 28, 28, 1), np.float32)).shape)
