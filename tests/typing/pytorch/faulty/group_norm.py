"""Group normalisation after a convolution: of other channels."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(16, 32, 3, padding="same")
        self.norm = nn.GroupNorm(4, 16)

    def forward(self, x: Float[Tensor, "n 16 h w"]) -> Float[Tensor, "n 32 h w"]:
        return F.silu(self.norm(self.conv(x)))  # shape


Block()(torch.rand(1, 16, 4, 5))
