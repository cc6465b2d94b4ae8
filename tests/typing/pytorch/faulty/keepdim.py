"""Rows are divided by their sums: without keepdim."""

import torch
from jaxtyping import Float
from torch import Tensor


def shares(x: Float[Tensor, "rows columns"]) -> Float[Tensor, "rows columns"]:
    totals = x.sum(dim=1)
    return x / totals  # shape


shares(torch.rand(4, 3))
