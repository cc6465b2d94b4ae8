"""A residual block."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.conv2 = nn.Conv2d(64, 64, 3, padding=1)
        self.shortcut = nn.Conv2d(32, 64, 1, stride=2)

    def forward(self, x: Float[Tensor, "n 32 56 56"]) -> Float[Tensor, "n 64 28 28"]:
        y = self.conv2(F.relu(self.conv1(x)))
        return F.relu(y + self.shortcut(x))


Block()(torch.rand(1, 32, 56, 56))
