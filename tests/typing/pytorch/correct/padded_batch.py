"""A batch with a mask."""

import torch
from jaxtyping import Bool, Float
from torch import Tensor


def mean(x: Float[Tensor, "batch time dim"], mask: Bool[Tensor, "batch time"]) -> Float[Tensor, "batch dim"]:
    kept = x * mask.unsqueeze(-1)
    return kept.sum(dim=1) / mask.sum(dim=1, keepdim=True)


mean(torch.rand(2, 3, 4), torch.ones(2, 3).bool())
