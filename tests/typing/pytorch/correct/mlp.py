"""A classifier of two layers."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn


class Classifier(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(784, 128)
        self.out = nn.Linear(128, 10)

    def forward(self, images: Float[Tensor, "batch 784"]) -> Float[Tensor, "batch 10"]:
        x = F.relu(self.hidden(images))
        return self.out(x)


Classifier()(torch.rand(4, 784))
