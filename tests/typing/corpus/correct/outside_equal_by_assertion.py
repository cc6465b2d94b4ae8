"""Sizes under two names that a test, an assertion or an exit makes equal."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2


def product(x: Float[Array2, "rows inner"], y: Float[Array2, "inner columns"]) -> Float[Array2, "rows columns"]:
    return x @ y


def asserted(x: Float[Array2, "a b"], y: Float[Array2, "c d"]) -> Float[Array2, "a d"]:
    assert x.shape[1] == y.shape[0], "do not fit"
    return product(x, y)


def raised(x: Float[Array2, "a b"], y: Float[Array2, "c d"]) -> Float[Array2, "a b"]:
    if x.shape != y.shape:
        raise ValueError("of one shape only")
    return x + y


def either(x: Float[Array2, "a b"], y: Float[Array2, "c d"]) -> Float[Array2, "_ _"]:
    if x.shape[1] == y.shape[0]:
        return product(x, y)
    if x.shape[1] == y.shape[1]:
        return product(x, y.T)
    return x


def unpacked(x: Float[Array2, "a b"], y: Float[Array1, " c"]) -> Float[Array2, "a b"]:
    rows, columns = x.shape
    (length,) = y.shape
    if columns != length:
        y = np.resize(y, columns)
    assert len(y) == columns
    assert rows
    return x * y


def square(x: Float[Array2, "a b"]) -> Float[Array2, "a a"]:
    n, m = x.shape
    if n != m:
        raise ValueError(f"not square: {n} by {m}")
    return x @ x + x.T


def hundred(x: Float[Array2, "batch features"]) -> Float[Array2, "batch 100"]:
    assert x.shape[1] == 100
    return x


def one_of(x: Float[Array2, "batch features"]) -> Float[Array2, "batch 1"]:
    return x if x.shape[1] == 1 else x[:, :1]


if __name__ == "__main__":
    x, y, z = np.ones((2, 3), np.float32), np.ones((3, 4), np.float32), np.ones((3, 3), np.float32)
    print(asserted(x, y).shape, raised(x, x).shape, either(x, y).shape, either(x, z).shape, unpacked(x, y[0]).shape)
    print(square(z).shape, hundred(np.ones((2, 100), np.float32)).shape, one_of(x).shape)
