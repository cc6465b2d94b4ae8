"""The feed-forward part of a transformer: the residual has another width."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class FeedForward(nn.Module):
    def __init__(self, dim: int = 64) -> None:
        super().__init__()
        self.up = nn.Linear(64, 256)
        self.down = nn.Linear(256, 128)

    def forward(self, x: Float[Tensor, "batch time 64"]) -> Float[Tensor, "batch time 64"]:
        return x + self.down(F.gelu(self.up(x)))  # shape


FeedForward()(torch.rand(2, 3, 64))
