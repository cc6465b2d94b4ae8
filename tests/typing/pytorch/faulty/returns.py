"""Discounted returns: two trajectories are stacked along a wrong axis."""

import torch
from jaxtyping import Float
from torch import Tensor


def batch(first: Float[Tensor, "steps"], second: Float[Tensor, "steps"]) -> Float[Tensor, "2 steps"]:
    return torch.stack([first, second], dim=1)  # shape


batch(torch.rand(5), torch.rand(5))
