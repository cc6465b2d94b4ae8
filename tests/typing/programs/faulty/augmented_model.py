"""A model that grows by >>=, the last layer with the size before the last."""

from typing import Any

import numpy as np

from typednn import Array2, Layer
from typednn.layers import Linear, ReLU

width = 48
model: Layer[Array2, Array2, Any] = Linear(10, width)
model >>= ReLU()
model >>= Linear(width, width // 2)
width //= 2
model >>= ReLU()
model >>= Linear(2 * width, 3)  # shape

if __name__ == "__main__":
    rng = np.random.default_rng(0)
    model.init(rng)
    print(model.forward(rng.random((2, 10)).astype(np.float32)).shape)
