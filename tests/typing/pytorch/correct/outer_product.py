"""Frequencies of positions."""

import torch
from jaxtyping import Float
from torch import Tensor


def table(positions: Float[Tensor, "time"], frequencies: Float[Tensor, "half"]) -> Float[Tensor, "time 2*half"]:
    angles = torch.outer(positions, frequencies)
    return torch.cat([angles.sin(), angles.cos()], dim=1)


table(torch.rand(5), torch.rand(4))
