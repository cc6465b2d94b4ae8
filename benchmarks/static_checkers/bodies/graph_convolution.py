"""A graph convolution: the nodes' features are multiplied from the wrong side."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("nodes, inputs, outputs")
def forward(
    x: Shaped[Tensor, "[nodes, inputs]"], edges: Shaped[Tensor, "[nodes, nodes]"], weight: Shaped[Tensor, "[inputs, outputs]"]
) -> Shaped[Tensor, "[nodes, outputs]"]:
    averaged = edges / edges.sum(dim=1, keepdim=True)
    mixed = x @ averaged  # right: mixed = averaged @ x
    return torch.relu(mixed @ weight)
