"""GlobalAvgPool2d: the mean of an image, channel by channel."""

from typing import Final

from typednn.kernels.global_avg_pool2d import cpu, reference
from typednn.kernels.op import Engine, op

backward: Final = op("global_avg_pool2d.backward", reference.backward, flops=1)
forward: Final = op(
    "global_avg_pool2d.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x", plan=cpu.plan),
    flops=1,
    backward=backward,
)

__all__ = ["backward", "forward"]
