"""A U-shaped net that keeps arrays of different sizes in a list and pops them."""
# pyright: basic

import numpy as np
from jaxtyping import Float

from typednn import Array2
from typednn.layers import Linear

rng = np.random.default_rng(0)
down1, down2 = Linear(32, 16, rng=rng), Linear(16, 8, rng=rng)
up1, up2 = Linear(8, 16, rng=rng), Linear(16, 32, rng=rng)


def forward(x: Float[Array2, "batch 32"]) -> Float[Array2, "batch 32"]:
    skips = []
    skips.append(x)
    h = down1(x)
    skips.append(h)
    h = down2(h)
    h = up1(h) + skips.pop()
    h = up2(h) + skips.pop()
    a, b = [x, h][0], [down1(x), h][-1]
    return a + b


if __name__ == "__main__":
    print(forward(np.ones((2, 32), np.float32)).shape)
