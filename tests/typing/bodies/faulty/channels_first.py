"""Images with the channels moved to the front: they are moved before the width only; runs all the same."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


def channels_first(x: Float[Array4, "batch height width channels"]) -> Float[Array4, "batch channels height width"]:
    return np.moveaxis(x, 3, 2)  # shape: channels height


if __name__ == "__main__":
    print(channels_first(np.ones((2, 5, 7, 3))).shape)
