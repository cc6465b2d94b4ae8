"""One step of an LSTM: the gates are split into three."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features, hidden")
def step(
    x: Shaped[Tensor, "[batch, features]"],
    h: Shaped[Tensor, "[batch, hidden]"],
    c: Shaped[Tensor, "[batch, hidden]"],
    w: Shaped[Tensor, "[features + hidden, 4 * hidden]"],
) -> tuple[Shaped[Tensor, "[batch, hidden]"], Shaped[Tensor, "[batch, hidden]"]]:
    z = torch.cat((x, h), dim=1) @ w
    i, f, g, o = z.chunk(3, dim=1)  # right: i, f, g, o = z.chunk(4, dim=1)
    c = c * torch.sigmoid(f) + torch.tanh(g) * torch.sigmoid(i)
    h = torch.tanh(c) * torch.sigmoid(o)
    return h, c
