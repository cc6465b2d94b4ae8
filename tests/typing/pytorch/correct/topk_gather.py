"""The best candidates are gathered."""

import torch
from jaxtyping import Float
from torch import Tensor


def best(scores: Float[Tensor, "batch 50"], items: Float[Tensor, "batch 50"]) -> Float[Tensor, "batch 5"]:
    top = scores.topk(5, dim=1)
    return items.gather(1, top.indices)


best(torch.rand(2, 50), torch.rand(2, 50))
