"""A product written into a buffer."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def project(x: Float[Array2, "batch features"], w: Float[Array2, "features out"]) -> Float[Array2, "batch out"]:
    buffer: Array2 = np.empty((x.shape[0], w.shape[1]))
    np.matmul(x, w, out=buffer)
    return buffer


if __name__ == "__main__":
    print(project(np.ones((7, 5)), np.ones((5, 3))).shape)
