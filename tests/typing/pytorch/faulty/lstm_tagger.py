"""A tagger on an LSTM in two directions: the head reads one direction."""

import torch
from jaxtyping import Int
from torch import Tensor, nn


class Tagger(nn.Module):
    def __init__(self, tags: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(500, 50)
        self.lstm = nn.LSTM(50, 60, batch_first=True, bidirectional=True)
        self.head = nn.Linear(60, tags)

    def forward(self, words: Int[Tensor, "batch time"]) -> Tensor:
        out, _ = self.lstm(self.embed(words))
        return self.head(out)  # shape


Tagger(7)(torch.zeros(2, 9, dtype=torch.long))
