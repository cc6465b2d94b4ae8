"""Frames of a film are stacked."""

import torch
from jaxtyping import Float
from torch import Tensor


def film(frames: list[Tensor], first: Float[Tensor, "3 32 32"], second: Float[Tensor, "3 32 32"]) -> Float[Tensor, "2 3 32 32"]:
    return torch.stack([first, second])


film([], torch.rand(3, 32, 32), torch.rand(3, 32, 32))
