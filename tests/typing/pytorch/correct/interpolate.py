"""Features of two scales are added."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def pyramid(low: Float[Tensor, "n 64 8 8"], high: Float[Tensor, "n 64 16 16"]) -> Float[Tensor, "n 64 16 16"]:
    return high + F.interpolate(low, scale_factor=2)


pyramid(torch.rand(1, 64, 8, 8), torch.rand(1, 64, 16, 16))
