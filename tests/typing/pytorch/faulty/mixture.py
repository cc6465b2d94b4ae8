"""A mixture of experts: the gates have no axis for features."""

import torch
from jaxtyping import Float
from torch import Tensor


def mix(gates: Float[Tensor, "batch experts"], outputs: Float[Tensor, "batch experts dim"]) -> Float[Tensor, "batch dim"]:
    return (gates * outputs).sum(dim=1)  # shape


mix(torch.rand(2, 3), torch.rand(2, 3, 4))
