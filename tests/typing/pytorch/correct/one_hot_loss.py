"""One-hot targets."""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def loss(p: Float[Tensor, "batch 10"], labels: Int[Tensor, "batch"]) -> Float[Tensor, ""]:
    targets = F.one_hot(labels, 10).float()
    return ((p - targets) ** 2).mean()


loss(torch.rand(2, 10), torch.tensor([1, 9]))
