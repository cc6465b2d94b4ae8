"""Multi-head attention by einsum: the last product has the keys where the queries belong."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, query, heads, size, key")
def heads(
    q: Shaped[Tensor, "[batch, query, heads, size]"],
    k: Shaped[Tensor, "[batch, key, heads, size]"],
    v: Shaped[Tensor, "[batch, key, heads, size]"],
) -> Shaped[Tensor, "[batch, query, heads, size]"]:
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k)
    weights = torch.softmax(scores, dim=-1)
    y = torch.einsum("bhqk,bkhd->bkhd", weights, v)  # right: y = torch.einsum("bhqk,bkhd->bqhd", weights, v)
    return y
