"""Backward through time, the weight's gradient added up in place: each step's is transposed."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, features, hidden")
def weight_gradient(x: Shaped[Tensor, "[batch, time, features]"], dz: Shaped[Tensor, "[batch, time, hidden]"]) -> Shaped[Tensor, "[hidden, features]"]:
    dweight = torch.zeros(dz.shape[2], x.shape[2])
    for t in reversed(range(x.shape[1])):
        dweight += x[:, t].T @ dz[:, t]  # right: dweight += dz[:, t].T @ x[:, t]
    return dweight
