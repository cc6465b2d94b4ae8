"""NumPy's ways to index and to reduce, between annotated functions."""

import numpy as np
from jaxtyping import Bool, Float, Int

from typednn import Array1, Array2, Array3


def rows(x: Float[Array2, "n d"]) -> Float[Array2, "n d"]:
    return x


def square(x: Float[Array2, "n n"]) -> Float[Array2, "n n"]:
    return x


def row(x: Float[Array1, " d"]) -> Float[Array1, " d"]:
    return x


def kept(x: Float[Array2, "n d"], mask: Bool[Array1, " n"]) -> Float[Array2, "kept d"]:
    return rows(x[mask])


def gathered(x: Float[Array2, "n d"], i: Int[Array2, "a b"]) -> Float[Array3, "a b d"]:
    several: Array3 = x[i]
    return several


def picked(x: Float[Array2, "n d"], i: Int[Array1, " k"], j: Int[Array1, " k"]) -> Float[Array1, " k"]:
    return row(x[i, j])


def crossed(x: Float[Array2, "n d"], i: Int[Array1, " k"]) -> Float[Array2, "k k"]:
    return square(x[np.ix_(i, i)])


def halves(x: Float[Array2, "n 10"]) -> Float[Array2, "n 5"]:
    left, right = x[:, :5], x[:, 5:50]
    return left + right + x[:, ::2] + x[:, -5:] + x[..., 1:6]


def spread(x: Float[Array2, "n d"]) -> Float[Array3, "n 1 d"]:
    centred: Array3 = x[:, np.newaxis] - x[:, None, ...].mean(axis=(0, 2), keepdims=True)
    return centred


def standardised(x: Float[Array2, "n d"]) -> Float[Array2, "n d"]:
    x = x - x.mean(0)
    x = x / x.std(axis=0, keepdims=True)
    return rows(x - np.median(x, axis=-1)[:, None])


def ordered(x: Float[Array2, "n d"]) -> Float[Array1, " n"]:
    best = x.argmax(axis=1)
    return row(np.take_along_axis(x, best[:, None], axis=1)[:, 0])


def written(x: Float[Array2, "n d"], y: Float[Array1, " d"]) -> Float[Array2, "n d"]:
    out = np.empty_like(x)
    out[0], out[1:] = y, x[1:]
    out[out > 1] = 0
    return rows(out)


def windows(x: Float[Array1, " n"]) -> Float[Array2, "_ 3"]:
    return np.lib.stride_tricks.sliding_window_view(x, 3)


def blocks(x: Float[Array2, "n 12"]) -> Float[Array2, "3*n 4"]:
    return rows(x.reshape(-1, 3, 4).reshape(-1, 4))


def last(x: Float[Array2, "n d"]) -> Float[Array2, "1 d"]:
    return rows(x[-1:]) if len(x) else np.zeros((1, x.shape[1]), np.float32)


if __name__ == "__main__":
    x, i = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([0, 2])
    print(kept(x, np.array([True, False, True])).shape, gathered(x, np.zeros((5, 6), int)).shape, picked(x, i, i).shape)
    print(crossed(x, i).shape, halves(np.ones((3, 10), np.float32)).shape, spread(x).shape, standardised(x).shape, ordered(x).shape)
    print(written(x, x[0]).shape, windows(x[0]).shape, blocks(np.ones((3, 12), np.float32)).shape, last(x).shape)
