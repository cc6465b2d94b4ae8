"""The best of each beam: the sizes of a view change places."""

import torch
from jaxtyping import Float
from torch import Tensor


def beams(scores: Float[Tensor, "batch 4 100"]) -> Float[Tensor, "batch 4"]:
    flat = scores.view(scores.size(0), 100)  # shape
    best, where = flat.topk(4, dim=1)
    return best


beams(torch.rand(2, 4, 100))
