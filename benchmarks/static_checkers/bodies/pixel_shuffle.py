"""Channels become pixels of a larger image: the last reshape forgets to widen the columns."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, height, width, channels")
def shuffle(x: Shaped[Tensor, "[batch, height, width, 4 * channels]"]) -> Shaped[Tensor, "[batch, 2 * height, 2 * width, channels]"]:
    batch, height, width, channels = x.shape
    blocks = x.reshape(batch, height, width, 2, 2, channels // 4).permute(0, 1, 3, 2, 4, 5)
    rows = 2 * height
    return blocks.reshape(batch, rows, width, channels // 4)  # right: return blocks.reshape(batch, rows, 2 * width, channels // 4)
