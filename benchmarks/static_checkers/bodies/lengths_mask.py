"""The mask of the real steps by the lengths of sequences: lengths and steps are laid along the same axis."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time")
def mask(x: Shaped[Tensor, "[batch, time]"], lengths: Shaped[Tensor, "[batch]"]) -> Shaped[Tensor, "[batch, time]"]:
    steps = torch.arange(x.shape[1])[None]
    real = torch.lt(steps, lengths[None])  # right: real = torch.lt(steps, lengths[:, None])
    return x * real
