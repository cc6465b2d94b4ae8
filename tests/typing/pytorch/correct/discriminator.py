"""A discriminator with strides."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Discriminator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 32, 4, 2, 1), nn.LeakyReLU(0.2), nn.Conv2d(32, 64, 4, 2, 1), nn.Flatten())
        self.head = nn.Linear(64 * 7 * 7, 1)

    def forward(self, x: Float[Tensor, "n 1 28 28"]) -> Float[Tensor, "n 1"]:
        return self.head(self.body(x))


Discriminator()(torch.rand(2, 1, 28, 28))
