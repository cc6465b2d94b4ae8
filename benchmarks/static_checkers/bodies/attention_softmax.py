"""Softmax of attention scores over the keys: the largest is taken without keepdims."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, heads, query, key")
def softmax(scores: Shaped[Tensor, "[batch, heads, query, key]"]) -> Shaped[Tensor, "[batch, heads, query, key]"]:
    largest = scores.max(dim=-1).values  # right: largest = scores.max(dim=-1, keepdim=True).values
    e = torch.exp(scores - largest)
    return e / e.sum(dim=-1, keepdim=True)
