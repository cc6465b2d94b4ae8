"""One step of a GRU: input and state are joined along the batch."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features, hidden")
def step(
    x: Shaped[Tensor, "[batch, features]"], h: Shaped[Tensor, "[batch, hidden]"], weight: Shaped[Tensor, "[features + hidden, hidden]"]
) -> Shaped[Tensor, "[batch, hidden]"]:
    joined = torch.cat((x, h), dim=0)  # right: joined = torch.cat((x, h), dim=1)
    z = torch.sigmoid(joined @ weight)
    new = torch.tanh(joined @ weight)
    return (1.0 - z) * h + z * new
