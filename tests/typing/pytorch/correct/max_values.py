"""The maximum over time."""

import torch
from jaxtyping import Float
from torch import Tensor


def strongest(x: Float[Tensor, "batch time 16"]) -> Float[Tensor, "batch 16"]:
    values, places = x.max(dim=1)
    return values


strongest(torch.rand(2, 5, 16))
