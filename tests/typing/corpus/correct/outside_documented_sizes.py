"""Axes with ``=``: the name is for the reader, the size is what counts; ``_name`` and ``_`` are any size."""

import numpy as np
from jaxtyping import Float, Int

from typednn import Array1, Array2


def rotation(angles: Float[Array1, "angles=3"]) -> Float[Array2, "rows=3 columns=3"]:
    return np.diag(np.cos(angles))


def moved(points: Float[Array2, "n xyz=3"], by: Float[Array2, "rows=3 cols=3"]) -> Float[Array2, "n uvw=3"]:
    return points @ by


def projected(points: Float[Array2, "n dims=3"]) -> Float[Array2, "n dims=2"]:
    return points[:, :2] / points[:, 2:]


def pixels(points: Float[Array2, "n uv=2"], sizes: Int[Array1, "uv=2"]) -> Int[Array2, "n uv=2"]:
    return np.clip(points.astype(np.int64), 0, sizes)


def counted(x: Float[Array2, "_rows _"], y: Float[Array2, "_rows _"]) -> Float[Array1, "_rows"]:
    return np.concatenate([x[:, 0], y[0]])


def half(y: Float[Array1, " k"], x: Float[Array2, "n d=2*k"]) -> Float[Array2, "n k"]:
    return x[:, ::2] * y


if __name__ == "__main__":
    points = moved(np.ones((5, 3), np.float32), rotation(np.zeros(3, np.float32)))
    print(pixels(projected(points), np.array([640, 480])).shape, counted(points, points.T).shape)
    print(half(np.ones(4, np.float32), np.ones((5, 8), np.float32)).shape)
