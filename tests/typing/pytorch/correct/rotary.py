"""Rotary positions."""

import torch
from jaxtyping import Float
from torch import Tensor


def rotate(x: Float[Tensor, "batch time 64"]) -> Float[Tensor, "batch time 64"]:
    a, b = x[..., :32], x[..., 32:]
    return torch.cat([-b, a], dim=-1)


rotate(torch.rand(2, 3, 64))
