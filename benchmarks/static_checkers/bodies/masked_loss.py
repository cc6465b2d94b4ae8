"""The squared error of the real steps of sequences: the mask has no axis for the features."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, features")
def masked_loss(
    prediction: Shaped[Tensor, "[batch, time, features]"],
    target: Shaped[Tensor, "[batch, time, features]"],
    mask: Shaped[Tensor, "[batch, time]"],
) -> Tensor:
    squares = (prediction - target) ** 2 * mask  # right: squares = (prediction - target) ** 2 * mask[..., None]
    return squares.sum() / mask.sum()
