"""Batch normalisation of rows."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(10, 20)
        self.norm = nn.BatchNorm1d(20)

    def forward(self, x: Float[Tensor, "batch 10"]) -> Float[Tensor, "batch 20"]:
        return self.norm(self.fc(x))


Rows()(torch.rand(4, 10))
