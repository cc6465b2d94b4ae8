"""A depthwise convolution."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Depthwise(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.depth = nn.Conv2d(24, 24, 3, padding=1, groups=24)
        self.point = nn.Conv2d(24, 48, 1)
        self.norm = nn.BatchNorm2d(48)

    def forward(self, x: Float[Tensor, "n 24 h w"]) -> Float[Tensor, "n 48 h w"]:
        return self.norm(self.point(self.depth(x)))


Depthwise()(torch.rand(1, 24, 8, 8))
