"""A mask of padded keys in attention: it is laid along the queries."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, query, key")
def masked(scores: Shaped[Tensor, "[batch, query, key]"], real: Shaped[Tensor, "[batch, key]"]) -> Shaped[Tensor, "[batch, query, key]"]:
    return torch.where(real[:, :, None], scores, -1e9)  # right: return torch.where(real[:, None, :], scores, -1e9)
