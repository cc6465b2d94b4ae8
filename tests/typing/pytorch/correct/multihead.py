"""Cross attention."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Cross(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attend = nn.MultiheadAttention(64, 4, batch_first=True)
        self.project = nn.Linear(128, 64)

    def forward(self, x: Float[Tensor, "b t 64"], memory: Float[Tensor, "b s 128"]) -> Float[Tensor, "b t 64"]:
        keys = self.project(memory)
        y, _ = self.attend(x, keys, keys)
        return x + y


Cross()(torch.rand(2, 3, 64), torch.rand(2, 5, 128))
