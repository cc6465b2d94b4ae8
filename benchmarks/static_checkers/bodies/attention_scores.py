"""The scores of attention: the keys are not transposed."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, query, size, key, width")
def attend(
    q: Shaped[Tensor, "[batch, query, size]"], k: Shaped[Tensor, "[batch, key, size]"], v: Shaped[Tensor, "[batch, key, width]"]
) -> Shaped[Tensor, "[batch, query, width]"]:
    scores = q @ k / 2.0  # right: scores = q @ k.transpose(1, 2) / 2.0
    weights = torch.softmax(scores, dim=-1)
    return weights @ v
