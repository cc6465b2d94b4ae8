"""A recurrent net over a sequence."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array3


def unroll(
    x: Float[Array3, "batch time features"], w: Float[Array2, "features hidden"], u: Float[Array2, "hidden hidden"]
) -> Float[Array3, "batch time hidden"]:
    h = np.zeros((x.shape[0], u.shape[0]))
    states = []
    for t in range(x.shape[1]):
        h = np.tanh(x[:, t] @ w + h @ u)
        states.append(h)
    return np.stack(states, axis=1)


if __name__ == "__main__":
    print(unroll(np.ones((2, 7, 3)), np.ones((3, 5)), np.ones((5, 5))).shape)
