"""Scores of queries and keys."""

import torch
from jaxtyping import Float
from torch import Tensor


def scores(q: Float[Tensor, "batch queries dim"], k: Float[Tensor, "batch keys dim"]) -> Float[Tensor, "batch queries keys"]:
    scale = q.shape[-1] ** -0.5
    return torch.softmax(q @ k.transpose(1, 2) * scale, dim=-1)


scores(torch.rand(2, 3, 8), torch.rand(2, 5, 8))
