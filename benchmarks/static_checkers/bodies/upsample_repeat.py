"""Images of twice the height and width: the rows are repeated twice, the columns never."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, height, width, channels")
def forward(x: Shaped[Tensor, "[batch, height, width, channels]"]) -> Shaped[Tensor, "[batch, 2 * height, 2 * width, channels]"]:
    tall = x.repeat_interleave(2, dim=1)
    y = tall.repeat_interleave(2, dim=1)  # right: y = tall.repeat_interleave(2, dim=2)
    return y
