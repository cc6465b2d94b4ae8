"""A generator of images."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Generator(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.start = nn.Linear(100, 128 * 7 * 7)
        self.up = nn.Sequential(
            nn.ConvTranspose2d(128, 64, 4, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(64, 1, 4, stride=2, padding=1)
        )

    def forward(self, noise: Float[Tensor, "n 100"]) -> Float[Tensor, "n 1 28 28"]:
        x = self.start(noise).view(noise.shape[0], 128, 7, 7)
        return self.up(x)


Generator()(torch.rand(2, 100))
