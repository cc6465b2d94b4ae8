"""Channels scaled by gates of the whole image: the gates get one new axis instead of two."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, height, width, channels")
def excite(
    x: Shaped[Tensor, "[batch, height, width, channels]"], w: Shaped[Tensor, "[channels, channels]"]
) -> Shaped[Tensor, "[batch, height, width, channels]"]:
    gates = torch.sigmoid(x.mean(dim=(1, 2)) @ w)
    return x * gates[:, None]  # right: return x * gates[:, None, None]
