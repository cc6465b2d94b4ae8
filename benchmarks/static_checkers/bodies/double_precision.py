"""A layer of single precision: a factor of NumPy's square root makes it double."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features")
def scaled(x: Shaped[Tensor, "[batch, features]"]) -> Shaped[Tensor, "[batch, features]"]:
    factors = torch.full((x.shape[1],), 2.0, dtype=torch.float64)  # right: factors = torch.full((x.shape[1],), 2.0)
    return x * factors
