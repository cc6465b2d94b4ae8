"""A frozen matrix with a low-rank adapter: the gradients of its two factors are swapped."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features, rank")
def backward(
    next_grad: Shaped[Tensor, "[batch, features]"],
    x: Shaped[Tensor, "[batch, features]"],
    low: Shaped[Tensor, "[batch, rank]"],
    down: Shaped[Tensor, "[rank, features]"],
    up: Shaped[Tensor, "[features, rank]"],
) -> tuple[Shaped[Tensor, "[batch, features]"], Shaped[Tensor, "[rank, features]"], Shaped[Tensor, "[features, rank]"]]:
    dlow = next_grad @ up
    ddown, dup = dlow.T @ x, next_grad.T @ low
    return next_grad + dlow @ down, dup, ddown  # right: return next_grad + dlow @ down, ddown, dup
