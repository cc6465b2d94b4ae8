"""A contrastive loss: similarities of a batch with itself."""

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor


def contrastive(a: Float[Tensor, "batch dim"], b: Float[Tensor, "batch dim"]) -> Float[Tensor, ""]:
    a, b = F.normalize(a, dim=1), F.normalize(b, dim=1)
    logits = a @ b / 0.07  # shape
    return F.cross_entropy(logits, torch.arange(a.shape[0]))


contrastive(torch.rand(4, 8), torch.rand(4, 8))
