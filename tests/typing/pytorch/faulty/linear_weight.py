"""A projection by hand with a layer's weights: the bias is that of another layer."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Hand(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a = nn.Linear(8, 4)
        self.b = nn.Linear(4, 2)

    def forward(self, x: Float[Tensor, "batch 8"]) -> Float[Tensor, "batch 4"]:
        return F.linear(x, self.a.weight, self.b.bias)  # shape


Hand()(torch.rand(3, 8))
