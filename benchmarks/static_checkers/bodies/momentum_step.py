"""An optimizer's step with momentum: the velocity of the matrix is made for its first axis only."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("rows, columns")
def step(weights: Shaped[Tensor, "[rows, columns]"], grad: Shaped[Tensor, "[rows, columns]"]) -> None:
    moved = torch.zeros(weights.shape[0])  # right: moved = torch.zeros(weights.shape[0], weights.shape[1])
    moved += grad
    weights -= 0.1 * moved
