"""Superresolution."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Super(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(32, 3 * 4, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x: Float[Tensor, "n 32 h w"]) -> Float[Tensor, "n 3 2*h 2*w"]:
        return self.shuffle(self.conv(x))


Super()(torch.rand(1, 32, 4, 4))
