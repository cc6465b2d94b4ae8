"""Distances of triplets: one is over the batch."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def triplet(anchor: Float[Tensor, "b d"], near: Float[Tensor, "b d"], far: Float[Tensor, "b d"]) -> Float[Tensor, ""]:
    positive = (anchor - near).pow(2).sum(dim=1)
    negative = (anchor - far).pow(2).sum(dim=0)
    return F.relu(positive - negative + 0.2).mean()  # shape


triplet(torch.rand(4, 8), torch.rand(4, 8), torch.rand(4, 8))
