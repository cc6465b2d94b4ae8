"""A user-defined layer of the wrong width."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor, nn


@shape_vars("features")
class Scale(nn.Module):
    """Each feature times a factor of its own."""

    def __init__(self, features: Shaped[int, "features"]) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(features))

    @shape_vars("B")
    def forward(self, x: Shaped[Tensor, "[B, features]"]) -> Shaped[Tensor, "[B, features]"]:
        """Each feature scaled."""
        return x * self.weight


model = nn.Sequential(nn.Linear(4, 8), Scale(9))  # right: model = nn.Sequential(nn.Linear(4, 8), Scale(8))


@shape_vars("B")
def scores(x: Shaped[Tensor, "[B, 4]"]) -> Tensor:
    """Eight features."""
    return model(x)
