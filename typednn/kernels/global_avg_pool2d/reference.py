"""GlobalAvgPool2d: the mean of an image, channel by channel.

y[b,k] = Σ_hw x[b,h,w,k] / (height·width)       dx[b,h,w,k] = dy[b,k] / (height·width)

x (batch, height, width, channels)      y (batch, channels)
Rows are summed in x's own precision, and their sums in double: an image may have many pixels. One addition per number;
a copy backward.
"""

import numpy as np
from jaxtyping import Float

from typednn.arrays import Array2, Array4, namespace


def forward(x: Float[Array4, "batch height width channels"]) -> Float[Array2, "batch channels"]:
    """y; see above."""
    rows = x.sum(axis=2).sum(axis=1, dtype=np.float64)
    y: Array2 = (rows * (1.0 / (x.shape[1] * x.shape[2]))).astype(x.dtype)
    return y


def backward(
    next_grad: Float[Array2, "batch channels"], input_shape: tuple[int, ...]
) -> Float[Array4, "batch height width channels"]:
    """dx, shaped ``input_shape``."""
    share = next_grad * next_grad.dtype.type(1.0 / (input_shape[1] * input_shape[2]))
    dx: Array4 = namespace(next_grad).broadcast_to(share[:, None, None, :], input_shape).copy()
    return dx
