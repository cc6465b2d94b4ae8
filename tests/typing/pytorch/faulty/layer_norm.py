"""Layer normalisation: of the width before the projection."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Norm(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.project = nn.Linear(64, 256)
        self.norm = nn.LayerNorm(64)

    def forward(self, x: Float[Tensor, "batch time 64"]) -> Float[Tensor, "batch time 256"]:
        return self.norm(self.project(x))  # shape


Norm()(torch.rand(2, 3, 64))
