"""A binary loss."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Scorer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x: Float[Tensor, "batch 12"], y: Float[Tensor, "batch"]) -> Float[Tensor, ""]:
        logits = self.net(x)
        return F.binary_cross_entropy_with_logits(logits.squeeze(1), y)


Scorer()(torch.rand(4, 12), torch.ones(4))
