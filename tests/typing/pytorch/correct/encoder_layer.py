"""An encoder layer of a transformer."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 64)
        self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, batch_first=True), 2)

    def forward(self, ids: Int[Tensor, "batch time"]) -> Float[Tensor, "batch 64"]:
        return self.encoder(self.embed(ids)).mean(dim=1)


Encoder()(torch.zeros(2, 5, dtype=torch.long))
