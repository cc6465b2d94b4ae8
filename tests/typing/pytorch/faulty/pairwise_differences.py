"""All pairs of differences: an axis of one element is put at a wrong place."""

import torch
from jaxtyping import Float
from torch import Tensor


def pairs(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    return (x[:, None] - y[:, None]).pow(2).sum(-1)  # shape


pairs(torch.rand(3, 2), torch.rand(4, 2))
