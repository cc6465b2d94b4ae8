"""Classes are compared with labels: the maximum is over the batch."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def accuracy(logits: Float[Tensor, "batch classes"], labels: Int[Tensor, "batch"]) -> Float[Tensor, ""]:
    predicted = logits.argmax(dim=0)
    return (predicted == labels).float().mean()  # shape


accuracy(torch.rand(4, 3), torch.zeros(4, dtype=torch.long))
