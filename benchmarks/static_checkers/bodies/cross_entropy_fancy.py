"""The gradient of softmax cross entropy by index arrays: the rows are counted by the classes."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, classes")
def loss_grad(prediction: Shaped[Tensor, "[batch, classes]"], target: Shaped[Tensor, "[batch]"]) -> Shaped[Tensor, "[batch, classes]"]:
    p = torch.softmax(prediction, dim=1)
    p[torch.arange(prediction.shape[1]), target] -= 1.0  # right: p[torch.arange(prediction.shape[0]), target] -= 1.0
    return p / target.shape[0]
