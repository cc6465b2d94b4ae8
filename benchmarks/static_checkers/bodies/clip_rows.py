"""Each row of a gradient clipped to a length: the lengths are taken without keepdims."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("rows, columns")
def clip(grad: Shaped[Tensor, "[rows, columns]"], limit: float) -> Shaped[Tensor, "[rows, columns]"]:
    lengths = torch.sqrt((grad**2).sum(dim=1))  # right: lengths = torch.sqrt((grad**2).sum(dim=1, keepdim=True))
    return grad * torch.clamp(limit / lengths, max=1.0)
