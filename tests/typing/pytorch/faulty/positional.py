"""Positions are added to embeddings: an axis is missing."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Embedded(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tokens = nn.Embedding(1000, 32)
        self.positions = nn.Parameter(torch.zeros(64, 16))

    def forward(self, ids: Int[Tensor, "batch 64"]) -> Float[Tensor, "batch 64 32"]:
        return self.tokens(ids) + self.positions  # shape


Embedded()(torch.zeros(2, 64, dtype=torch.long))
