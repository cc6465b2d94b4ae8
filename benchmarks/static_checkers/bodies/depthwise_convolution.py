"""A depthwise convolution over time: the kernel's second axis is indexed instead of its first."""

from shape_extensions import Shaped, shape_vars
from torch import Tensor


@shape_vars("batch, time, channels")
def depthwise(
    x: Shaped[Tensor, "[batch, time, channels]"], weight: Shaped[Tensor, "[3, channels]"]
) -> Shaped[Tensor, "[batch, time - 2, channels]"]:
    steps = x.shape[1] - 2
    first = x[:, :steps] * weight[:, 0]  # right: first = x[:, :steps] * weight[0]
    return first + x[:, 1 : steps + 1] * weight[1] + x[:, 2:] * weight[2]
