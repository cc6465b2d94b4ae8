"""Group normalisation after a convolution."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(16, 32, 3, padding="same")
        self.norm = nn.GroupNorm(4, 32)

    def forward(self, x: Float[Tensor, "n 16 h w"]) -> Float[Tensor, "n 32 h w"]:
        return F.silu(self.norm(self.conv(x)))


Block()(torch.rand(1, 16, 4, 5))
