"""A projection by einsum: of an axis of another size."""

import torch
from jaxtyping import Float
from torch import Tensor


def project(x: Float[Tensor, "batch time 48"]) -> Float[Tensor, "batch time 16"]:
    weight = torch.randn(16, 32)
    return torch.einsum("btd,od->bto", x, weight)  # shape


project(torch.rand(2, 3, 48))
