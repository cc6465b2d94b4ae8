"""Python's own numbers stay such, and take the precision of the array beside them; what may be a number or a tuple is not guessed."""

import numpy as np
from jaxtyping import Float, Float32

from typednn import Array2


def disparity(depth: Float32[Array2, "rows columns"], focal: int, baseline: float) -> Float32[Array2, "rows columns"]:
    return (focal * baseline) / (depth + 0.01)


def powered(depth: Float32[Array2, "rows columns"], focal: int, baseline: float) -> Float32[Array2, "rows columns"]:
    y: Float32[Array2, "rows columns"] = depth * (focal / 2) ** -baseline + (baseline > 2) + abs(baseline) - baseline.real
    return y


def folded(x: Float[Array2, "rows columns"], shape: tuple[int, ...]) -> Float[Array2, "rows columns"]:
    x.reshape(shape).mean(axis=2)
    return x


if __name__ == "__main__":
    x = np.ones((2, 6), np.float32)
    print(disparity(x, 2, 3.0).dtype, powered(x, 2, 3.0).dtype, folded(x, (2, 3, 2)).shape)
