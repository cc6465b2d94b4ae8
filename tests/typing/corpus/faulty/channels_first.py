"""Images with their channels first, as in another library."""

import numpy as np
from jaxtyping import Float

from typednn import Array4
from typednn.layers import Conv2d

conv = Conv2d(3, 8, 3, rng=np.random.default_rng(0))


def features(images: Float[Array4, "batch 3 32 32"]) -> Float[Array4, "batch 30 30 8"]:
    return conv.forward(images)  # shape: expects 3 channels, gets 32


if __name__ == "__main__":
    features(np.ones((2, 3, 32, 32), np.float32))
