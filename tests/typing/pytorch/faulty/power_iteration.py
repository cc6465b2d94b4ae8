"""Power iteration: the vector has the wrong length."""

import torch
from jaxtyping import Float
from torch import Tensor


def dominant(a: Float[Tensor, "rows columns"]) -> Float[Tensor, "columns"]:
    v = torch.ones(a.shape[0])
    v = a.T @ (a @ v)  # shape
    return v / v.norm()


dominant(torch.rand(4, 3))
