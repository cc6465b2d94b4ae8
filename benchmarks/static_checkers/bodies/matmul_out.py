"""A product written into a buffer: the buffer has the weight's input size."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features, out")
def project(x: Shaped[Tensor, "[batch, features]"], w: Shaped[Tensor, "[features, out]"]) -> Shaped[Tensor, "[batch, out]"]:
    buffer = torch.empty(x.shape[0], w.shape[0])  # right: buffer = torch.empty(x.shape[0], w.shape[1])
    torch.matmul(x, w, out=buffer)
    return buffer
