"""An LSTM reads embeddings: of another width."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(100, 32)
        self.rnn = nn.LSTM(64, 64)

    def forward(self, ids: Int[Tensor, "time batch"]) -> Float[Tensor, "time batch 64"]:
        out, (h, c) = self.rnn(self.embed(ids))  # shape
        return out


Model()(torch.zeros(4, 2, dtype=torch.long))
