"""The input's gradient of a convolution of 3."""

import numpy as np
from jaxtyping import Float

from typednn import Array4


def input_gradient(
    next_grad: Float[Array4, "batch height width out_channels"], weight: Float[Array4, "out_channels 3 3 in_channels"]
) -> Float[Array4, "batch height+2 width+2 in_channels"]:
    padded = np.pad(next_grad, ((0, 0), (2, 2), (2, 2), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (3, 3), axis=(1, 2))
    dx: Array4 = np.einsum("bhwoij,oijc->bhwc", windows, weight[:, ::-1, ::-1])
    return dx


if __name__ == "__main__":
    print(input_gradient(np.ones((2, 7, 11, 5)), np.ones((5, 3, 3, 13))).shape)
