"""A convolutional encoder."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1),
            nn.BatchNorm2d(16),
            nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1),
        )

    def forward(self, x: Float[Tensor, "b 3 64 64"]) -> Float[Tensor, "b 32 32 32"]:
        return self.body(x)


Encoder()(torch.rand(2, 3, 64, 64))
