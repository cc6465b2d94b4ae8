"""An approximation of low rank."""

import torch
from jaxtyping import Float
from torch import Tensor


def approximate(x: Float[Tensor, "20 30"]) -> Float[Tensor, "20 30"]:
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    return (u[:, :5] * s[:5]) @ vh[:5]


approximate(torch.rand(20, 30))
