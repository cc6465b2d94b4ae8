"""All pairs of differences."""

import torch
from jaxtyping import Float
from torch import Tensor


def pairs(x: Float[Tensor, "n d"], y: Float[Tensor, "m d"]) -> Float[Tensor, "n m"]:
    return (x[:, None] - y[None]).pow(2).sum(-1)


pairs(torch.rand(3, 2), torch.rand(4, 2))
