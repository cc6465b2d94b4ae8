"""Logarithms of probabilities of sequences: the sums get their axis back at the wrong place."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, classes")
def log_softmax(x: Shaped[Tensor, "[batch, time, classes]"]) -> Shaped[Tensor, "[batch, time, classes]"]:
    shifted = x - x.max(dim=-1, keepdim=True).values
    sums = torch.exp(shifted).sum(dim=-1)
    return shifted - torch.log(sums)[:, None]  # right: return shifted - torch.log(sums)[..., None]
