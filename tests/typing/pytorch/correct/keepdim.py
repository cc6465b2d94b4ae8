"""Rows are divided by their sums."""

import torch
from jaxtyping import Float
from torch import Tensor


def shares(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
    totals = x.sum(dim=1, keepdim=True)
    return x / totals


shares(torch.rand(4, 3))
