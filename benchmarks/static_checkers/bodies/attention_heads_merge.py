"""Heads merged into features again: the axes are permuted wrongly before, so that time and size change places."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, heads, time, size")
def merge(y: Shaped[Tensor, "[batch, heads, time, size]"]) -> Shaped[Tensor, "[batch, time, heads * size]"]:
    batch = y.shape[0]
    side_by_side = y.permute(0, 3, 1, 2)  # right: side_by_side = y.permute(0, 2, 1, 3)
    return side_by_side.reshape(batch, side_by_side.shape[1], -1)
