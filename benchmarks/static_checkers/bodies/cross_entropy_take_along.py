"""The loss of each row by take_along_axis: the labels lie in a row, not in a column."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, classes")
def losses(log_probabilities: Shaped[Tensor, "[batch, classes]"], labels: Shaped[Tensor, "[batch]"]) -> Shaped[Tensor, "[batch, 1]"]:
    return -log_probabilities.gather(1, labels[None])  # right: return -log_probabilities.gather(1, labels[:, None])
