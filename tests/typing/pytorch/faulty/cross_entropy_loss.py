"""A loss of logits and classes: the classes are one-hot in two axes."""

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


def loss(logits: Float[Tensor, "batch classes"], labels: Int[Tensor, "batch"]) -> Float[Tensor, ""]:
    criterion = nn.CrossEntropyLoss()
    return criterion(logits, labels.unsqueeze(1))  # shape


loss(torch.rand(4, 3), torch.tensor([0, 1, 2, 0]))
