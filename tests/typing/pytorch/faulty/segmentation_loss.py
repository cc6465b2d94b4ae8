"""A loss for each pixel: the channels are last."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def loss(logits: Float[Tensor, "n 21 64 64"], masks: Int[Tensor, "n 64 64"]) -> Float[Tensor, ""]:
    return F.cross_entropy(logits.permute(0, 2, 3, 1), masks)  # shape


loss(torch.rand(1, 21, 64, 64), torch.zeros(1, 64, 64, dtype=torch.long))
