"""Features are normalised over the batch."""

import torch
from jaxtyping import Float
from torch import Tensor


def normalise(x: Float[Tensor, "batch features"]) -> Float[Tensor, "batch features"]:
    mean = x.mean(dim=0)
    std = x.std(dim=0)
    return (x - mean) / (std + 1e-5)


normalise(torch.rand(6, 3))
