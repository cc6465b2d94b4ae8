"""A bilinear form by einsum: the matrix is turned."""

import torch
from jaxtyping import Float
from torch import Tensor


def form(x: Float[Tensor, "b i"], w: Float[Tensor, "i j"], y: Float[Tensor, "b j"]) -> Float[Tensor, "b"]:
    return torch.einsum("bi,ij,bj->b", x, w.T, y)  # shape


form(torch.rand(3, 2), torch.rand(2, 4), torch.rand(3, 4))
