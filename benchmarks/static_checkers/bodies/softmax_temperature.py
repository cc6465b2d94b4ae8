"""Softmax with a temperature for each row: the temperatures lie along the classes."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, classes")
def softmax(scores: Shaped[Tensor, "[batch, classes]"], temperature: Shaped[Tensor, "[batch]"]) -> Shaped[Tensor, "[batch, classes]"]:
    scaled = scores / temperature[None]  # right: scaled = scores / temperature[:, None]
    return torch.softmax(scaled, dim=1)
