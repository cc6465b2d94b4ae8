"""Images with the channels moved to the front: they are moved before the width only."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, height, width, channels")
def channels_first(x: Shaped[Tensor, "[batch, height, width, channels]"]) -> Shaped[Tensor, "[batch, channels, height, width]"]:
    return torch.movedim(x, 3, 2)  # right: return torch.movedim(x, 3, 1)
