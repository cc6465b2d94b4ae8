"""The moving average of a layer's weights: the average is held the other way round."""

import numpy as np
from shape_extensions import Shaped, shape_vars


@shape_vars("rows, columns")
def update(mean: Shaped[np.ndarray, "[rows, columns]"], weights: Shaped[np.ndarray, "[columns, rows]"]) -> None:
    mean *= 0.9
    mean += 0.1 * weights  # right: mean += 0.1 * weights.T
