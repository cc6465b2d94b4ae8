"""Normalisation over the last axis: the mean is taken without keepdims."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, features")
def normalise(
    x: Shaped[Tensor, "[batch, time, features]"], weight: Shaped[Tensor, "[features]"]
) -> Shaped[Tensor, "[batch, time, features]"]:
    centred = x - x.mean(dim=-1)  # right: centred = x - x.mean(dim=-1, keepdim=True)
    variance = (centred**2).mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + 1e-5) * weight
