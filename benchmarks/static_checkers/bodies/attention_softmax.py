"""Softmax of attention scores over the keys: the largest is taken without keepdims."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, heads, query, key")
def softmax(scores: Shaped[Tensor, "[batch, heads, query, key]"]) -> Shaped[Tensor, "[batch, heads, query, key]"]:
    largest = scores.amax(dim=-1)  # right: largest = scores.amax(dim=-1, keepdim=True)
    e = torch.exp(scores - largest)
    return e / e.sum(dim=-1, keepdim=True)
