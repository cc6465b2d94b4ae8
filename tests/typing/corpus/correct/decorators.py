"""Decorators that change what a function reads and gives, and a context manager around layers."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, checking
from typednn.layers import Linear

rng = np.random.default_rng(0)
fc = Linear(6, 3, rng=rng)


def for_one(function: Callable[[Array2], Array2]) -> Callable[[Array1], Array1]:
    def wrapped(sample: Array1) -> Array1:
        row: Array1 = function(sample[None, :])[0]
        return row

    return wrapped


@for_one
def predict(x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 3"]:
    return fc(x)


@contextmanager
def padded(x: Float[Array2, "batch features"], features: int) -> Generator[Array2]:
    yield np.pad(x, ((0, 0), (0, features - x.shape[1])))


if __name__ == "__main__":
    print(predict(np.ones(6, np.float32)).shape)
    with checking("full"), padded(np.ones((2, 4), np.float32), 6) as wide:
        print(fc(wide).shape)
