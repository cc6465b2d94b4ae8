"""Linear attention: the sum for the divisor runs over the features instead of time."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, size, width")
def attend(
    q: Shaped[Tensor, "[batch, time, size]"], k: Shaped[Tensor, "[batch, time, size]"], v: Shaped[Tensor, "[batch, time, width]"]
) -> Shaped[Tensor, "[batch, time, width]"]:
    context = torch.einsum("btd,bte->bde", k, v)
    total = k.sum(dim=2)  # right: total = k.sum(dim=1)
    divisor = torch.einsum("btd,bd->bt", q, total)
    return torch.einsum("btd,bde->bte", q, context) / divisor[..., None]
