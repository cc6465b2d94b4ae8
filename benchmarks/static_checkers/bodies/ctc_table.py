"""The extended labels of CTC, a blank around each: the labels are written where the blanks belong."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("length")
def extend(labels: Shaped[Tensor, "[length]"]) -> Shaped[Tensor, "[2 * length + 1]"]:
    extended = torch.zeros(2 * labels.shape[0] + 1)
    extended[::2] = labels  # right: extended[1::2] = labels
    return extended
