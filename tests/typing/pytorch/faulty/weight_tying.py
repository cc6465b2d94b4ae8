"""Logits by the embedding's weights: not transposed."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(1000, 64)

    def forward(self, h: Float[Tensor, "batch 64"]) -> Float[Tensor, "batch 1000"]:
        return h @ self.embed.weight  # shape


Tied()(torch.rand(2, 64))
