"""The feed-forward part of a transformer."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Module):
    def __init__(self, dim: int = 64) -> None:
        super().__init__()
        self.up = nn.Linear(64, 256)
        self.down = nn.Linear(256, 64)

    def forward(self, x: Float[Tensor, "batch time 64"]) -> Float[Tensor, "batch time 64"]:
        return x + self.down(F.gelu(self.up(x)))


FeedForward()(torch.rand(2, 3, 64))
