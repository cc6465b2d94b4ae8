"""Inputs and targets of a language model: one is not shifted."""

import torch
from jaxtyping import Int
from torch import Tensor


def pairs(ids: Int[Tensor, "batch 65"]) -> Int[Tensor, "batch 64"]:
    inputs, targets = ids[:, :-1], ids
    return torch.where(inputs == targets, 0, targets)  # shape


pairs(torch.zeros(2, 65, dtype=torch.long))
