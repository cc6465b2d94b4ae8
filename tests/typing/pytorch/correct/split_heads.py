"""Heads of attention."""

import torch
from jaxtyping import Float
from torch import Tensor


def split_heads(x: Float[Tensor, "batch time 64"]) -> Float[Tensor, "batch 8 time 8"]:
    batch, time, _ = x.shape
    return x.view(batch, time, 8, 8).transpose(1, 2)


split_heads(torch.rand(2, 5, 64))
