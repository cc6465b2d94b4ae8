"""The moving average of a layer's weights: the average is held the other way round."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("rows, columns")
def update(mean: Shaped[Tensor, "[rows, columns]"], weights: Shaped[Tensor, "[columns, rows]"]) -> None:
    mean *= 0.9
    mean += 0.1 * weights  # right: mean += 0.1 * weights.T
