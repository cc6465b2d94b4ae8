"""A bilinear form of two inputs: the letters of its weight are exchanged."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, left, right, out")
def forward(
    x: Shaped[Tensor, "[batch, left]"], y: Shaped[Tensor, "[batch, right]"], weight: Shaped[Tensor, "[out, left, right]"]
) -> Shaped[Tensor, "[batch, out]"]:
    return torch.einsum("bi,oji,bj->bo", x, weight, y)  # right: return torch.einsum("bi,oij,bj->bo", x, weight, y)
