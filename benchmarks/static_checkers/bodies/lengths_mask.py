"""The mask of the real steps by the lengths of sequences: lengths and steps are laid along the same axis."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time")
def mask(x: Shaped[Tensor, "[batch, time]"], lengths: Shaped[Tensor, "[batch]"]) -> Shaped[Tensor, "[batch, time]"]:
    real = torch.arange(x.shape[1])[None] < lengths[None]  # right: real = torch.arange(x.shape[1])[None] < lengths[:, None]
    return x * real
