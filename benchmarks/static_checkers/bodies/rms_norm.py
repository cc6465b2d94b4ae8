"""RMSNorm over features: the squares are averaged over time."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, features")
def root(x: Shaped[Tensor, "[batch, time, features]"]) -> Shaped[Tensor, "[batch, time, 1]"]:
    squares = torch.mean(x * x, dim=1, keepdim=True)  # right: squares = torch.mean(x * x, dim=-1, keepdim=True)
    return 1.0 / torch.sqrt(squares + 1e-6)
