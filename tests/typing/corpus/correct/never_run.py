"""Code that is never run does not count: after a return, under TYPE_CHECKING, on another platform, past an assertion."""

import sys
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
four, six = Linear(4, 2, rng=rng), Linear(6, 2, rng=rng)

if TYPE_CHECKING:
    Rows = Float[Array2, "batch 4"]
else:
    Rows = Float[Array2, "batch features"]


def forward(x: Rows) -> Float[Array2, "batch 2"]:
    return four.forward(x)


def on_this_platform(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
    if sys.platform == "no such platform":
        return six.forward(x)
    return four.forward(x)


def asserted(x: Float[Array2, "batch features"]) -> Float[Array2, "batch 2"]:
    assert x.shape[1] == 6
    return six.forward(x)


if __name__ == "__main__":
    x = np.ones((2, 4), np.float32)
    print(forward(x).shape, on_this_platform(x).shape, asserted(np.ones((2, 6), np.float32)).shape)
