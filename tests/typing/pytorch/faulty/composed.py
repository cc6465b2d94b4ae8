"""A model of models: the head reads what the backbone does not give."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Backbone(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 32, 3, stride=2)

    def forward(self, x: Float[Tensor, "n 3 h w"]) -> Float[Tensor, "n 32"]:
        return self.conv(x).relu().mean(dim=(2, 3))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.backbone = Backbone()
        self.head = nn.Linear(64, 5)

    def forward(self, x: Float[Tensor, "n 3 h w"]) -> Float[Tensor, "n 5"]:
        return self.head(self.backbone(x))  # shape


Model()(torch.rand(1, 3, 9, 9))
