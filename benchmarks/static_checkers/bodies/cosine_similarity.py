"""The cosines of all pairs of two sets of rows: the second set is not transposed."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("queries, features, items")
def cosines(a: Shaped[Tensor, "[queries, features]"], b: Shaped[Tensor, "[items, features]"]) -> Shaped[Tensor, "[queries, items]"]:
    a = a / torch.linalg.norm(a, dim=1, keepdim=True)
    b = b / torch.linalg.norm(b, dim=1, keepdim=True)
    return a @ b  # right: return a @ b.T
