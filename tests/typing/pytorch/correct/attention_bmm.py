"""Weighted values by bmm."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def attend(weights: Float[Tensor, "b q k"], values: Float[Tensor, "b k d"]) -> Float[Tensor, "b q d"]:
    mixed = torch.bmm(weights, values)
    return F.dropout(mixed, 0.1)


attend(torch.rand(2, 3, 5), torch.rand(2, 5, 8))
