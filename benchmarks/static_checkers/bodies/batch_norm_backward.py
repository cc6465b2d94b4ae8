"""The backward of batch normalisation: the factor's gradient is summed over the features."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, features")
def backward(
    next_grad: Shaped[Tensor, "[batch, features]"],
    h: Shaped[Tensor, "[batch, features]"],
    r: Shaped[Tensor, "[features]"],
    weight: Shaped[Tensor, "[features]"],
) -> tuple[Shaped[Tensor, "[batch, features]"], Shaped[Tensor, "[features]"], Shaped[Tensor, "[features]"]]:
    dweight = (next_grad * h).sum(dim=1)  # right: dweight = (next_grad * h).sum(dim=0)
    dbias = next_grad.sum(dim=0)
    dx = next_grad - (dbias + h * dweight) / next_grad.shape[0]
    return dx * weight * r, dweight, dbias
