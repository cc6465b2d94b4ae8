"""Rotary embeddings: the cosines lie along the heads."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, heads")
def rotate(
    x: Shaped[Tensor, "[batch, time, heads, 10]"], cos: Shaped[Tensor, "[time, 5]"], sin: Shaped[Tensor, "[time, 5]"]
) -> Shaped[Tensor, "[batch, time, heads, 10]"]:
    first, second = x[..., :5], x[..., 5:]
    c, s = cos[None], sin[:, None]  # right: c, s = cos[:, None], sin[:, None]
    return torch.cat((first * c - second * s, first * s + second * c), dim=-1)
