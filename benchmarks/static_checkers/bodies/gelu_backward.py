"""GELU with its derivative: backward drops the last feature of what was kept."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features")
def backward(
    next_grad: Shaped[Tensor, "[batch, features]"], kept: Shaped[Tensor, "[batch, features]"]
) -> Shaped[Tensor, "[batch, features]"]:
    x = kept[:, :-1]  # right: x = kept
    t = torch.tanh(0.7978845608 * (x + 0.044715 * x**3))
    slope = 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t)
    return next_grad * slope
