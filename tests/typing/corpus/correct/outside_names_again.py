"""Names of axes that mean one thing here and another there: in a caller and a callee, in two calls, in a loop, in a closure."""

import numpy as np
from jaxtyping import Float

from typednn import Array1, Array2


def transposed(x: Float[Array2, "n m"]) -> Float[Array2, "m n"]:
    return x.T


def stacked(x: Float[Array2, "n d"], y: Float[Array2, "m d"]) -> Float[Array2, "n+m d"]:
    return np.concatenate([x, y])


def gram(x: Float[Array2, "m n"]) -> Float[Array2, "n n"]:
    return transposed(x) @ x


def layers(x: Float[Array2, "n d"], weights: list[Float[Array2, "d_in d_out"]]) -> Float[Array2, "n _"]:
    for weight in weights:
        x = x @ weight
    return x


def grown(x: Float[Array2, "n d"], times: int) -> Float[Array2, "_ d"]:
    for _ in range(times):
        x = stacked(x, x)
    return x


def closed_over(x: Float[Array2, "n d"]) -> Float[Array2, "n n"]:
    def row(y: Float[Array1, " d"]) -> Float[Array1, " n"]:
        return x @ y

    def column(n: Float[Array1, " n"]) -> Float[Array1, " d"]:
        return x.T @ n

    def other(n: Float[Array2, "d n"]) -> Float[Array2, "n d"]:
        return n.T

    return np.stack([row(column(row(each))) for each in other(other(x))])


def sizes(n: int, d: int, x: Float[Array2, "d n"]) -> Float[Array2, "n d"]:
    y: Float[Array2, "rows columns"] = np.zeros((n, d), np.float32)
    y = y + transposed(x)[:n, :d] if x.shape == (d, n) else y
    return y


if __name__ == "__main__":
    x = np.ones((2, 3), np.float32)
    weights = [np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)]
    print(gram(x).shape, layers(x, weights).shape, grown(x, 2).shape, closed_over(x).shape, sizes(3, 2, x).shape)
