"""A function for gray and for coloured pixels, called with both."""

import numpy as np
from jaxtyping import Float

from typednn import Array2


def brightest(x: Float[Array2, "pixels 1"] | Float[Array2, "pixels 3"]) -> float:
    return float(x.max())


def both(gray: Float[Array2, "pixels 1"], coloured: Float[Array2, "pixels 3"]) -> float:
    return brightest(gray) + brightest(coloured)


if __name__ == "__main__":
    print(both(np.ones((2, 1), np.float32), np.ones((2, 3), np.float32)))
