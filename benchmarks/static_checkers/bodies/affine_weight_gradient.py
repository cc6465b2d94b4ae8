"""A projection without bias: the gradient of the weight is transposed."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, outputs, inputs")
def backward(
    next_grad: Shaped[Tensor, "[batch, outputs]"], x: Shaped[Tensor, "[batch, inputs]"], weight: Shaped[Tensor, "[outputs, inputs]"]
) -> tuple[Shaped[Tensor, "[batch, inputs]"], Shaped[Tensor, "[outputs, inputs]"]]:
    dweight = x.T @ next_grad
    return next_grad @ weight, dweight  # right: return next_grad @ weight, dweight.T
