"""A closure over its layers, one of which reads the input's size for the hidden one."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear, Sigmoid


def make_forward(seed: int) -> Callable[[Array2], Array2]:
    rng = np.random.default_rng(seed)
    encode, act = Linear(12, 24, rng=rng), Sigmoid()
    decode = Linear(12, 12, rng=rng)  # shape

    def forward(x: Float[Array2, "batch 12"]) -> Float[Array2, "batch 12"]:
        if (code := act.forward(encode.forward(x))).max() > 1.0:
            raise AssertionError("a sigmoid is at most one")
        return decode.forward(code)  # meets

    return forward


if __name__ == "__main__":
    forward = make_forward(0)
    print(forward(np.zeros((2, 12), np.float32)).shape)
