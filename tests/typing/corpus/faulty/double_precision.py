"""Single precision where a function asks for double: it runs all the same."""

import numpy as np
from jaxtyping import Float32, Float64

from typednn import Array1, Array2


def exact_norms(x: Float64[Array2, "batch features"]) -> Float64[Array1, " batch"]:
    norms: Array1 = (x * x).sum(axis=1)
    return norms


def report(x: Float32[Array2, "batch 4"]) -> float:
    return float(exact_norms(x).max())  # shape: exact_norms: x expects Float64, gets Float32


if __name__ == "__main__":
    report(np.ones((2, 4), np.float32))
