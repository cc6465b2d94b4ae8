"""Text is convolved."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class TextConv(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 50)
        self.conv = nn.Conv1d(50, 16, 3)

    def forward(self, ids: Int[Tensor, "batch 20"]) -> Float[Tensor, "batch 16"]:
        x = self.embed(ids).transpose(1, 2)
        return self.conv(x).relu().amax(dim=2)


TextConv()(torch.zeros(2, 20, dtype=torch.long))
