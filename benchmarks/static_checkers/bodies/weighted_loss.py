"""A squared error with a weight for each output: the weights are turned to the batch."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch")
def loss_grad(
    prediction: Shaped[Tensor, "[batch, 5]"], target: Shaped[Tensor, "[batch, 5]"], weights: Shaped[Tensor, "[5]"]
) -> Shaped[Tensor, "[batch, 5]"]:
    difference = prediction - target
    return 2.0 * difference * weights[:, None]  # right: return 2.0 * difference * weights[None, :]
