"""A loop that pools until the image is small: its array has another size at each turn."""

import numpy as np
from jaxtyping import Float

from typednn import Array2, Array4
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d

rng = np.random.default_rng(0)
pad, conv, pool, flatten, fc = Pad2d(1), Conv2d(3, 3, 3, rng=rng), MaxPool2d(2), Flatten(), Linear(48, 2, rng=rng)


def forward(x: Float[Array4, "batch 32 32 3"], least: int) -> Float[Array2, "batch 2"]:
    while x.shape[1] > least:
        x = pool(conv(pad(x)))
    for _ in range(2):
        x = conv(pad(x))
    return fc(flatten(x))


if __name__ == "__main__":
    print(forward(rng.standard_normal((2, 32, 32, 3)).astype(np.float32), 4).shape)
