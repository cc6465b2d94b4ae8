"""The backward of layer normalisation: the factor's gradient is summed over time alone."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, features")
def backward(
    next_grad: Shaped[Tensor, "[batch, time, features]"],
    h: Shaped[Tensor, "[batch, time, features]"],
    r: Shaped[Tensor, "[batch, time, 1]"],
    weight: Shaped[Tensor, "[features]"],
) -> tuple[Shaped[Tensor, "[batch, time, features]"], Shaped[Tensor, "[features]"]]:
    dh = next_grad * weight
    dx = dh - dh.mean(dim=-1, keepdim=True) - h * (dh * h).mean(dim=-1, keepdim=True)
    return dx * r, (next_grad * h).sum(dim=1)  # right: return dx * r, (next_grad * h).sum(dim=(0, 1))
