"""An affine map of rows: the weight is not transposed."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, inputs, outputs")
def forward(
    x: Shaped[Tensor, "[batch, inputs]"], weight: Shaped[Tensor, "[outputs, inputs]"], bias: Shaped[Tensor, "[outputs]"]
) -> Shaped[Tensor, "[batch, outputs]"]:
    return x @ weight + bias  # right: return x @ weight.T + bias
