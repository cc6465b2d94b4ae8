"""One step of an LSTM."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def step(
    x: Float[Array2, "batch features"],
    h: Float[Array2, "batch hidden"],
    c: Float[Array2, "batch hidden"],
    w: Float[Array2, "features+hidden 4*hidden"],
) -> tuple[Float[Array2, "batch hidden"], Float[Array2, "batch hidden"]]:
    z = np.concatenate([x, h], axis=1) @ w
    i, f, g, o = np.split(z, 4, axis=1)
    c = c / (1.0 + np.exp(-f)) + np.tanh(g) / (1.0 + np.exp(-i))
    h = np.tanh(c) / (1.0 + np.exp(-o))
    return h, c


if __name__ == "__main__":
    h, c = step(np.ones((7, 3)), np.zeros((7, 5)), np.zeros((7, 5)), np.ones((8, 20)))
    print(h.shape, c.shape)
