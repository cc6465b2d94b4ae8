"""Features are upsampled and concatenated: by a wrong factor."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Fuse(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.grow = nn.Upsample(scale_factor=4)

    def forward(self, low: Float[Tensor, "n 8 16 16"], high: Float[Tensor, "n 8 32 32"]) -> Float[Tensor, "n 16 32 32"]:
        return torch.cat([self.grow(low), high], dim=1)  # shape


Fuse()(torch.rand(1, 8, 16, 16), torch.rand(1, 8, 32, 32))
