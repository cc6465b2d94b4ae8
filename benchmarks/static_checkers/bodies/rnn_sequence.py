"""A recurrent net over a sequence: its states are stacked with time first."""

import torch
from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, features, hidden")
def unroll(
    x: Shaped[Tensor, "[batch, time, features]"], w: Shaped[Tensor, "[features, hidden]"], u: Shaped[Tensor, "[hidden, hidden]"]
) -> Shaped[Tensor, "[batch, time, hidden]"]:
    h = torch.tanh(x[:, 0] @ w)
    states = []
    for t in range(x.shape[1]):
        h = torch.tanh(x[:, t] @ w + h @ u)
        states.append(h)
    return torch.stack(states, dim=0)  # right: return torch.stack(states, dim=1)
