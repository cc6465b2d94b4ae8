"""Scores of queries and keys: the keys are not transposed."""

import torch
from jaxtyping import Float
from torch import Tensor


def scores(q: Float[Tensor, "batch queries dim"], k: Float[Tensor, "batch keys dim"]) -> Float[Tensor, "batch queries keys"]:
    scale = q.shape[-1] ** -0.5
    return torch.softmax(q @ k * scale, dim=-1)  # shape


scores(torch.rand(2, 3, 8), torch.rand(2, 5, 8))
