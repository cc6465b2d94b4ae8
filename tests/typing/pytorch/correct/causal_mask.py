"""A causal mask is put on scores."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Causal(nn.Module):
    mask: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)).bool())

    def forward(self, scores: Float[Tensor, "batch 16 16"]) -> Float[Tensor, "batch 16 16"]:
        return scores.masked_fill(~self.mask, float("-inf")).softmax(dim=-1)


Causal()(torch.rand(2, 16, 16))
