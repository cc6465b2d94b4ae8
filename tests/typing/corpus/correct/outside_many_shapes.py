"""One function for several shapes: unions, overloads, dispatch on rank or type, and methods that a subclass reads otherwise."""

from functools import singledispatchmethod
from typing import overload

import numpy as np
from jaxtyping import Bool, Float, Float32, Float64, Int, Integer, Num, Real, Shaped

from typednn import Array1, Array2, IntArray1


def as_rows(x: Float[np.ndarray, " d"] | Float[np.ndarray, "n d"]) -> Float[np.ndarray, "_ d"]:
    return x[None] if x.ndim == 1 else x


@overload
def norm(x: Float[Array1, " d"]) -> float: ...
@overload
def norm(x: Float[Array2, "n d"]) -> Float[Array1, " n"]: ...
def norm(x: Float[Array1, " d"] | Float[Array2, "n d"]) -> float | Float[Array1, " n"]:
    if x.ndim == 1:
        return float(np.sqrt((x * x).sum()))
    lengths: Array1 = np.sqrt((x * x).sum(axis=-1))
    return lengths


class Table:
    @singledispatchmethod
    def rows(self, chosen: object) -> Float[Array2, "n 4"]:
        raise TypeError(type(chosen))

    @rows.register
    def _(self, chosen: int) -> Float[Array2, "n 4"]:
        return np.ones((chosen, 4), np.float32)

    @staticmethod
    def column(x: Float[Array2, "n d"], i: int) -> Float[Array1, " n"]:
        return x[:, i]

    @classmethod
    def width(cls, x: Float[Array2, "n d"]) -> int:
        return len(cls.column(x.T, 0))


class Sampled(Table):
    def again(self, x: Float[Array2, "n d"]) -> Float[Array1, " d"]:
        return self.column(x.T, 0)


def counted(x: Shaped[np.ndarray, "n *rest"]) -> int:
    return len(x)


def mean(x: Num[np.ndarray, "n"], of: Real[np.ndarray, "n"], where: Bool[np.ndarray, "n"] | Integer[np.ndarray, "n"]) -> float:
    return float((x * of * where).sum())


def precise(x: Float32[Array1, " n"] | Float64[Array1, " n"]) -> Float64[Array1, " n"]:
    return x.astype(np.float64)


def indices(x: Int[IntArray1, " n"]) -> Integer[IntArray1, " n"]:
    return x + 1


if __name__ == "__main__":
    x, i = np.ones((2, 3), np.float32), np.arange(3)
    print(as_rows(x).shape, as_rows(x[0]).shape, norm(x).shape, norm(x[0]), Table().rows(5).shape, Table.width(x), Sampled().again(x).shape)
    print(counted(x), counted(i), mean(i, x[0], i > 1), mean(x[0], i, i), precise(precise(x[0])).shape, indices(i).shape)
