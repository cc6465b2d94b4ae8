"""Convolution by im2col: the number of rows is one too small."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, height, width, channels")
def columns(x: Shaped[Tensor, "[batch, height, width, channels]"]) -> Shaped[Tensor, "[batch, (height - 2) * (width - 2), 9 * channels]"]:
    batch, height, width, channels = x.shape
    rows, cols = height - 3, width - 2  # right: rows, cols = height - 2, width - 2
    a, b, c = x[:, : height - 2], x[:, 1 : height - 1], x[:, 2:]
    three = torch.cat((a, b, c), dim=3)
    d, e, f = three[:, :, : width - 2], three[:, :, 1 : width - 1], three[:, :, 2:]
    return torch.cat((d, e, f), dim=3).reshape(batch, rows * cols, 9 * channels)
