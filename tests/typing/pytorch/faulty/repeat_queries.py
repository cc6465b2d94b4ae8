"""Keys are repeated for heads: by repeat of too few numbers."""

import torch
from jaxtyping import Float
from torch import Tensor


def grow(keys: Float[Tensor, "batch 2 time dim"]) -> Float[Tensor, "batch 8 time dim"]:
    return keys.repeat_interleave(2, dim=1)  # shape


grow(torch.rand(1, 2, 3, 4))
