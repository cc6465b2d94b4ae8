"""The gates of an LSTM by slices: one slice is twice as wide."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch")
def step(z: Shaped[Tensor, "[batch, 20]"], c: Shaped[Tensor, "[batch, 5]"]) -> Shaped[Tensor, "[batch, 5]"]:
    keep = torch.sigmoid(z[:, :5])
    write = torch.sigmoid(z[:, 5:15])  # right: write = torch.sigmoid(z[:, 5:10])
    new = torch.tanh(z[:, 10:15])
    c = keep * c + write * new
    return torch.tanh(c) * torch.sigmoid(z[:, 15:])
