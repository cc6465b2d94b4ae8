"""Features split into heads: the last axis is not divided by the number of heads."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time")
def split(x: Shaped[Tensor, "[batch, time, 33]"]) -> Shaped[Tensor, "[batch, 3, time, 11]"]:
    batch, time, _ = x.shape
    y = x.reshape(batch, time, 3, 33)  # right: y = x.reshape(batch, time, 3, 11)
    return y.transpose(1, 2)
