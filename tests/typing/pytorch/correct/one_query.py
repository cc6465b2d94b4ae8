"""A query of one row meets a matrix of keys."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def lookup(query: Float[Tensor, "dim"], keys: Float[Tensor, "items dim"]) -> Int[Tensor, "best"]:
    similarity = keys @ query
    return similarity.topk(3).indices


lookup(torch.rand(8), torch.rand(5, 8))
