"""Normalisation over the batch: the mean is taken over the features."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features")
def forward(
    x: Shaped[Tensor, "[batch, features]"], weight: Shaped[Tensor, "[features]"], running: Shaped[Tensor, "[features]"], training: bool
) -> Shaped[Tensor, "[batch, features]"]:
    mean = x.mean(dim=1) if training else running  # right: mean = x.mean(dim=0) if training else running
    centred = x - mean
    r = 1.0 / torch.sqrt((centred**2).mean(dim=0) + 1e-5)
    return centred * r * weight
