"""A loss of logits and classes."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def loss(logits: Float[Tensor, "batch classes"], labels: Int[Tensor, "batch"]) -> Float[Tensor, ""]:
    criterion = nn.CrossEntropyLoss()
    return criterion(logits, labels)


loss(torch.rand(4, 3), torch.tensor([0, 1, 2, 0]))
