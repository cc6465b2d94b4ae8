"""A projection by einsum."""

import torch
from jaxtyping import Float
from torch import Tensor


def project(x: Float[Tensor, "batch time 48"]) -> Float[Tensor, "batch time 16"]:
    weight = torch.randn(16, 48)
    return torch.einsum("btd,od->bto", x, weight)


project(torch.rand(2, 3, 48))
