"""An Inception-like block with three branches of 8 channels, and a convolution that reads 32."""

import numpy as np

from typednn import Input
from typednn.layers import Concat, Conv2d, GlobalAvgPool2d, Linear, ReLU

KERNELS = (1, 3, 5)

branches = Concat(*(Conv2d(16, 8, k, padding=k // 2) for k in KERNELS))
model = (
    Input(20, 20, 1)  # meets
    >> Conv2d(1, 16, 3)
    >> ReLU()
    >> branches
    >> Conv2d(8 * 4, 12, 1)  # shape
    >> GlobalAvgPool2d()
    >> Linear(12, 4)
)

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.standard_normal((2, 20, 20, 1)).astype(np.float32)).shape)
