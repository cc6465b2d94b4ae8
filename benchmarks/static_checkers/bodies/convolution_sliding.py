"""Convolution by sliding windows: einsum reads the weight's channels where its rows are."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, inputs, outputs")
def forward(
    x: Shaped[Tensor, "[batch, 13, 11, inputs]"], weight: Shaped[Tensor, "[outputs, 3, 3, inputs]"]
) -> Shaped[Tensor, "[batch, 11, 9, outputs]"]:
    windows = x.unfold(1, 3, 1).unfold(2, 3, 1)
    return torch.einsum("bhwcij,ocij->bhwo", windows, weight)  # right: return torch.einsum("bhwcij,oijc->bhwo", windows, weight)
