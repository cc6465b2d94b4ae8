"""A query of one row meets a matrix of keys: along a wrong axis."""

import torch
from jaxtyping import Float, Int
from torch import Tensor


def lookup(query: Float[Tensor, "dim"], keys: Float[Tensor, "items dim"]) -> Int[Tensor, "best"]:
    similarity = keys.T @ query  # shape
    return similarity.topk(3).indices


lookup(torch.rand(8), torch.rand(5, 8))
