"""An average of weights in place."""

import torch
from jaxtyping import Float
from torch import Tensor


def update(average: Float[Tensor, "out 64"], weight: Float[Tensor, "out 64"]) -> Float[Tensor, "out 64"]:
    average.mul_(0.99).add_(weight * 0.01)
    return average


update(torch.rand(3, 64), torch.rand(3, 64))
