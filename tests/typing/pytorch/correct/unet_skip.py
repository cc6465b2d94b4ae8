"""A skip connection of a U-Net."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Small(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 16, 3, padding=1)
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ConvTranspose2d(16, 16, 2, stride=2)
        self.out = nn.Conv2d(32, 1, 1)

    def forward(self, x: Float[Tensor, "n 3 32 32"]) -> Float[Tensor, "n 1 32 32"]:
        skip = F.relu(self.down(x))
        up = self.up(self.pool(skip))
        return self.out(torch.cat([skip, up], dim=1))


Small()(torch.rand(1, 3, 32, 32))
