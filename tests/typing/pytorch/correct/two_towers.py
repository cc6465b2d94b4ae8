"""Two towers and their product."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Towers(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.user = nn.Linear(40, 16)
        self.item = nn.Linear(60, 16)

    def forward(self, users: Float[Tensor, "batch 40"], items: Float[Tensor, "batch 60"]) -> Float[Tensor, "batch"]:
        return (self.user(users) * self.item(items)).sum(dim=1)


Towers()(torch.rand(2, 40), torch.rand(2, 60))
