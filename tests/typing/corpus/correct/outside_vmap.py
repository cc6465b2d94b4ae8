"""``vmap``: a function of one sample is called with a batch, by a decorator, by a call, and under a name."""

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2, Array3


def vmap(function: Callable[..., Any], in_axes: tuple[int | None, ...] = (0, 0)) -> Callable[..., Any]:
    @wraps(function)
    def batched(*arrays: Any) -> Any:
        moved = [array if axis is None else np.moveaxis(array, axis, 0) for array, axis in zip(arrays, in_axes, strict=False)]
        count = next(len(array) for array, axis in zip(moved, in_axes, strict=False) if axis is not None)
        samples = ([array if axis is None else array[i] for array, axis in zip(moved, in_axes, strict=False)] for i in range(count))
        return np.stack([function(*sample) for sample in samples])

    return batched


def distance(x: Float[Array1, " features"], y: Float[Array1, " features"]) -> Float[Array1, " 1"]:
    d = x - y
    total: Array1 = (d * d).sum(keepdims=True)
    return total


@vmap
def normed(x: Float[Array1, " features"]) -> Float[Array1, " features"]:
    return x / np.float32(2)


@partial(vmap, in_axes=(1, None))
def shifted(x: Float[Array1, " rows"], by: Float[Array1, " rows"]) -> Float[Array1, " rows"]:
    return x + by


def pairs(x: Float[Array2, "n features"], y: Float[Array2, "m features"]) -> Float[Array3, "n m 1"]:
    between: Array3 = vmap(vmap(distance, in_axes=(None, 0)), in_axes=(0, None))(x, y)
    return between


if __name__ == "__main__":
    rows, few = np.ones((4, 3), np.float32), np.ones((2, 3), np.float32)
    distances = vmap(distance)
    print(distances(rows, rows).shape, normed(rows).shape, shifted(rows, np.ones(4, np.float32)).shape, pairs(rows, few).shape)
