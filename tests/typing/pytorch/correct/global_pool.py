"""Global pooling and a head."""

import torch
from jaxtyping import Float
from torch import Tensor, nn


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, 10)

    def forward(self, x: Float[Tensor, "n 512 7 7"]) -> Float[Tensor, "n 10"]:
        x = self.pool(x)
        return self.fc(x.flatten(1))


Head()(torch.rand(2, 512, 7, 7))
