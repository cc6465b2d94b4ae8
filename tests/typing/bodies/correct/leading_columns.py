"""The first two columns, turned."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def turned(x: Float[Array2, "count columns"]) -> Array2:
    rotation: Array2 = np.eye(2)
    y: Array2 = x[:, :2] @ rotation
    return y


if __name__ == "__main__":
    print(turned(np.ones((5, 7))).shape)
