"""Layers in a list."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Deep(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 32), nn.Linear(32, 32), nn.Linear(32, 32)])

    def forward(self, x: Float[Tensor, "batch 32"]) -> Float[Tensor, "batch 32"]:
        for layer in self.layers:
            x = x + torch.relu(layer(x))
        return x


Deep()(torch.rand(2, 32))
