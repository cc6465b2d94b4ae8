"""Frequencies of positions: the table is turned."""

import torch
from jaxtyping import Float
from torch import Tensor


def table(positions: Float[Tensor, "time"], frequencies: Float[Tensor, "half"]) -> Float[Tensor, "time 2*half"]:
    angles = torch.outer(frequencies, positions)
    return torch.cat([angles.sin(), angles.cos()], dim=1)  # shape


table(torch.rand(5), torch.rand(4))
