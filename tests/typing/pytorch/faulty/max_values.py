"""The maximum over time: the pair is unpacked the right way, the axis is wrong."""

import torch
from jaxtyping import Float
from torch import Tensor


def strongest(x: Float[Tensor, "batch time 16"]) -> Float[Tensor, "batch 16"]:
    values, places = x.max(dim=2)
    return values  # shape


strongest(torch.rand(2, 5, 16))
