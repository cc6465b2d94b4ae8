"""Dropout of features: the mask is drawn for the rows only."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features")
def forward(x: Shaped[Tensor, "[batch, features]"]) -> Shaped[Tensor, "[batch, features]"]:
    keep = torch.rand(x.shape[0]).ge(0.5)  # right: keep = torch.rand(x.shape[0], x.shape[1]).ge(0.5)
    return x * keep / 0.5
