"""A gated linear unit: value and gate are halves of the batch."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, half")
def forward(x: Shaped[Tensor, "[batch, 2 * half]"]) -> Shaped[Tensor, "[batch, half]"]:
    value, gate = x.chunk(2, dim=0)  # right: value, gate = x.chunk(2, dim=1)
    return value * torch.sigmoid(gate)
