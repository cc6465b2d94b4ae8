"""Rotary positions: halves of different widths."""

import torch
from jaxtyping import Float
from torch import Tensor


def rotate(x: Float[Tensor, "batch time 64"]) -> Float[Tensor, "batch time 64"]:
    a, b = x[..., :32], x[..., 48:]
    return torch.cat([-b, a], dim=-1)  # shape


rotate(torch.rand(2, 3, 64))
