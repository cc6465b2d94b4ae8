"""The gradient of the mean squared error: it is averaged over the batch, so it loses that axis."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features")
def loss_grad(
    prediction: Shaped[Tensor, "[batch, features]"], target: Shaped[Tensor, "[batch, features]"]
) -> Shaped[Tensor, "[batch, features]"]:
    grad = 2.0 * (prediction - target).mean(dim=0)  # right: grad = 2.0 * (prediction - target)
    return grad
