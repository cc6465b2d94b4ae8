"""The last state of a GRU."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Reader(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gru = nn.GRU(10, 20, batch_first=True)

    def forward(self, x: Float[Tensor, "batch time 10"]) -> Float[Tensor, "batch 20"]:
        output, state = self.gru(x)
        return state[-1]


Reader()(torch.rand(3, 6, 10))
