"""Maximum of windows of 2 by reshape: it is taken over the pooled rows and columns."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, rows, columns, channels")
def forward(x: Shaped[Tensor, "[batch, 2 * rows, 2 * columns, channels]"]) -> Shaped[Tensor, "[batch, rows, columns, channels]"]:
    batch, height, width, channels = x.shape
    windows = x.reshape(batch, height // 2, 2, width // 2, 2, channels)
    y = windows.max(dim=3).values.max(dim=1).values  # right: y = windows.max(dim=4).values.max(dim=2).values
    return y
