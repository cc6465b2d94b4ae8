"""A convolution over time, its shifted copies side by side: they are stacked on an axis of their own."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, channels, out")
def convolve(
    x: Shaped[Tensor, "[batch, time, channels]"], weight: Shaped[Tensor, "[3 * channels, out]"]
) -> Shaped[Tensor, "[batch, time - 2, out]"]:
    shifts = (x[:, :-2], x[:, 1:-1], x[:, 2:])
    windows = torch.stack(shifts, dim=-1)  # right: windows = torch.cat(shifts, dim=-1)
    return windows @ weight
