"""Distances to prototypes: along the features of one only."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def nearest(x: Float[Tensor, "n 32"], prototypes: Float[Tensor, "k 32"]) -> Int[Tensor, "n"]:
    distances = torch.cdist(prototypes, x)
    return distances.argmin(dim=1)  # shape


nearest(torch.rand(4, 32), torch.rand(3, 32))
