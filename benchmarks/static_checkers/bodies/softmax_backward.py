"""The backward of softmax over rows: the inner sum loses its axis."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, classes")
def backward(next_grad: Shaped[Tensor, "[batch, classes]"], y: Shaped[Tensor, "[batch, classes]"]) -> Shaped[Tensor, "[batch, classes]"]:
    inner = (next_grad * y).sum(dim=1)  # right: inner = (next_grad * y).sum(dim=1, keepdim=True)
    return y * (next_grad - inner)
