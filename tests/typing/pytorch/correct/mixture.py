"""A mixture of experts."""

import torch
from jaxtyping import Float
from torch import Tensor


def mix(gates: Float[Tensor, "batch experts"], outputs: Float[Tensor, "batch experts dim"]) -> Float[Tensor, "batch dim"]:
    return (gates.unsqueeze(-1) * outputs).sum(dim=1)


mix(torch.rand(2, 3), torch.rand(2, 3, 4))
