"""An image is cut into patches."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Patches(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(3 * 16 * 16, 128)

    def forward(self, images: Float[Tensor, "n 3 224 224"]) -> Float[Tensor, "n 196 128"]:
        n = images.shape[0]
        x = images.reshape(n, 3, 14, 16, 14, 16).permute(0, 2, 4, 1, 3, 5)
        return self.project(x.flatten(3).flatten(1, 2))


Patches()(torch.rand(1, 3, 224, 224))
