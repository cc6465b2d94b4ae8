"""A function for single precision is given the doubles of another function; it runs all the same."""

from typing import Protocol

import numpy as np
from jaxtyping import Float32, Float64

from typednn import Array2


class Normaliser(Protocol):
    def __call__(self, x: Float64[Array2, "batch features"]) -> Float64[Array2, "batch features"]: ...


def centred(x: Float64[Array2, "batch features"]) -> Float64[Array2, "batch features"]:
    y: Array2 = x - x.mean(axis=0)
    return y


def energy(x: Float32[Array2, "batch features"]) -> float:
    return float((x * x).sum())


def report(x: Float64[Array2, "batch 6"], normalise: Normaliser) -> float:
    y = centred(x)
    again = normalise(y)
    return energy(y) + float(again.sum())  # shape


if __name__ == "__main__":
    print(report(np.ones((3, 6)), centred))
