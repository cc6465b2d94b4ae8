"""The last real step of each sequence: the sequences are counted by the time."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, features")
def last(x: Shaped[Tensor, "[batch, time, features]"], lengths: Shaped[Tensor, "[batch]"]) -> Shaped[Tensor, "[batch, features]"]:
    return x[torch.arange(x.shape[1]), lengths - 1]  # right: return x[torch.arange(x.shape[0]), lengths - 1]
