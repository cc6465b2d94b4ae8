"""Sinusoidal positions added to a sequence: sines and cosines are joined along time."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time")
def forward(x: Shaped[Tensor, "[batch, time, 10]"], rates: Shaped[Tensor, "[5]"]) -> Shaped[Tensor, "[batch, time, 10]"]:
    angles = torch.arange(x.shape[1])[:, None] * rates[None]
    sin, cos = torch.sin(angles), torch.cos(angles)
    table = torch.cat((sin, cos), dim=0)  # right: table = torch.cat((sin, cos), dim=1)
    return x + table
