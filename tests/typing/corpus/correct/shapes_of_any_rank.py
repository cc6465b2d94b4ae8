"""Functions of arrays of any number of axes: of one shape, of rows, of what a comparison decides."""

import numpy as np
from jaxtyping import Bool, Float

from typednn import Array1, Array2
from typednn.arrays import AnyArray, AnyBoolArray


def swish(x: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    y: AnyArray = x / (1 + np.exp(-x))
    return y


def masked(x: Float[AnyArray, "*shape"], mask: Bool[AnyBoolArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    y = np.zeros_like(x)
    y += np.where(mask, swish(x), 0)
    np.maximum(y, 0, out=y)
    return np.clip(y, 0, 1).astype(np.float32)


def normalised(x: Float[AnyArray, "*batch features"]) -> Float[AnyArray, "*batch features"]:
    """A row's mean has one axis of one element."""
    y: AnyArray = swish(x) - x.mean(axis=-1, keepdims=True)
    return y


def affine(
    x: Float[AnyArray, "*batch features"], weight: Float[Array1, " features"], bias: Float[Array1, " features"]
) -> Float[AnyArray, "*batch features"]:
    y: AnyArray = swish(x) * weight
    y += bias
    return y


def counted(x: Float[AnyArray, "*batch features"], total: Float[Array1, " features"]) -> Float[Array1, " features"]:
    """Of one row."""
    total += swish(x)
    return total


def weighted(x: Float[AnyArray, "*batch features"], weights: Float[AnyArray, "*batch"]) -> Float[AnyArray, "*batch features"]:
    """It fits, which nothing here can tell."""
    return swish(x) * swish(weights)[..., None]


def of_rows(x: Float[Array2, "rows columns"]) -> Float[Array2, "rows columns"]:
    return normalised(swish(x))


def dispatched(x: Float[AnyArray, "*shape"]) -> Float[AnyArray, "*shape"]:
    """Of an array that is found to have two axes."""
    if x.ndim == 2:
        return of_rows(x)
    return swish(x)


def joined(x: Float[AnyArray, "*batch columns"], y: Float[AnyArray, "*batch others"]) -> Float[AnyArray, "*batch columns+others"]:
    return np.concatenate([swish(x), swish(y)], axis=-1)


def stretched(x: Float[AnyArray, "*shape"], y: Float[AnyArray, "*other"]) -> Float[AnyArray, "..."]:
    """Two shapes that may broadcast."""
    return swish(x) + swish(y)


if __name__ == "__main__":
    x = np.ones((2, 3), np.float32)
    print(masked(x, x > 0).shape, weighted(x, x[:, 0]).shape, dispatched(x).shape, dispatched(x[0]).shape)
    print(affine(x, x[0], x[0]).shape, counted(x[0], x[1].copy()).shape)
    print(joined(x, np.ones((2, 5), np.float32)).shape, stretched(x, x[0]).shape, of_rows(x).shape)
