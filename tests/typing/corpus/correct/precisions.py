"""Float32, float64 and integers side by side: the same ranks and sizes."""

import numpy as np
from jaxtyping import Float, Float32, Float64, Integer

from typednn import AnyIntArray, Array2, IntArray1, IntArray2
from typednn.layers import Linear, Softmax

rng = np.random.default_rng(0)
fc = Linear(6, 3, rng=rng)


def predict(x: Float32[Array2, "batch 6"]) -> Integer[AnyIntArray, " batch"]:
    best: AnyIntArray = fc.forward(x).argmax(axis=1)
    return best


def exact(x: Float64[Array2, "batch 3"]) -> Float64[Array2, "batch 3"]:
    return Softmax().forward(x)


def pixels(x: Integer[IntArray2, "batch 6"]) -> Float[Array2, "batch 3"]:
    return fc.forward(x.astype(np.float32) / 255)


def wrong(predicted: Integer[AnyIntArray, " batch"], labels: Integer[IntArray1, " batch"]) -> int:
    return int((predicted != labels).sum())


if __name__ == "__main__":
    x = np.ones((2, 6), np.int64)
    exact(pixels(x).astype(np.float64))
    print(wrong(predict(x.astype(np.float32)), np.array([1, 2])))
