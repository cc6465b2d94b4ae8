"""GlobalAvgPool2d: the mean of an image, channel by channel."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.kernels.global_avg_pool2d import cpu, reference
from typednn.kernels.op import Engine, op

backward: Final = op(
    "global_avg_pool2d.backward", reference.backward, flops=lambda next_grad, input_shape: next_grad.size
)
forward: Final = op(
    "global_avg_pool2d.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x", plan=cpu.plan),
    flops=lambda x: x.size,
    backward=backward,
)

__all__ = ["backward", "forward"]
