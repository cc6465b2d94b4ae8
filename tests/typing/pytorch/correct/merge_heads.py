"""Heads are merged."""

import torch
from jaxtyping import Float
from torch import Tensor


def merge(x: Float[Tensor, "batch heads time dim"]) -> Float[Tensor, "batch time heads*dim"]:
    batch, heads, time, dim = x.shape
    return x.transpose(1, 2).reshape(batch, time, heads * dim)


merge(torch.rand(2, 4, 5, 8))
