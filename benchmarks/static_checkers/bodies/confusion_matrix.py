"""The confusion matrix of one-hot labels: it counts samples by samples."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("count, classes")
def confusion(
    predicted: Shaped[Tensor, "[count, classes]"], actual: Shaped[Tensor, "[count, classes]"]
) -> Shaped[Tensor, "[classes, classes]"]:
    matrix = actual @ predicted.T  # right: matrix = actual.T @ predicted
    return matrix
