"""From NumPy to PyTorch and back: the matrix meets the wrong axis."""

import numpy as np
import torch
from jaxtyping import Float
from torch import nn


def transform(x: Float[np.ndarray, "rows 8"]) -> Float[np.ndarray, "rows 4"]:
    layer = nn.Linear(8, 4)
    y = layer(torch.from_numpy(x)).detach().numpy()
    return np.maximum(y.T, 0)  # shape


transform(np.ones((3, 8), np.float32))
