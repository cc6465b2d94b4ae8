"""Queries, keys and values in one projection."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(64, 3 * 64)
        self.out = nn.Linear(64, 64)

    def forward(self, x: Float[Tensor, "batch time 64"]) -> Float[Tensor, "batch time 64"]:
        q, k, v = self.qkv(x).split(64, dim=-1)
        return self.out(F.scaled_dot_product_attention(q, k, v))


Attention()(torch.rand(2, 5, 64))
