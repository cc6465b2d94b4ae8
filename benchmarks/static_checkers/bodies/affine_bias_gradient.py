"""An affine map of rows, written by hand: the gradient of the bias is not summed over the batch."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, outputs, inputs")
def backward(
    next_grad: Shaped[Tensor, "[batch, outputs]"], x: Shaped[Tensor, "[batch, inputs]"], weight: Shaped[Tensor, "[outputs, inputs]"]
) -> tuple[Shaped[Tensor, "[batch, inputs]"], Shaped[Tensor, "[outputs, inputs]"], Shaped[Tensor, "[outputs]"]]:
    dbias = next_grad * 1.0
    return next_grad @ weight, next_grad.T @ x, dbias  # right: return next_grad @ weight, next_grad.T @ x, dbias.sum(dim=0)
