"""A loss for each pixel."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def loss(logits: Float[Tensor, "n 21 64 64"], masks: Int[Tensor, "n 64 64"]) -> Float[Tensor, ""]:
    return F.cross_entropy(logits, masks)


loss(torch.rand(1, 21, 64, 64), torch.zeros(1, 64, 64, dtype=torch.long))
