"""The two halves of a rotation put together: they are stacked, so there is one axis too many."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time")
def turned(x: Shaped[Tensor, "[batch, time, 10]"]) -> Shaped[Tensor, "[batch, time, 10]"]:
    first, second = x[..., :5], x[..., 5:]
    return torch.stack((-second, first), dim=-1)  # right: return torch.cat((-second, first), dim=-1)
