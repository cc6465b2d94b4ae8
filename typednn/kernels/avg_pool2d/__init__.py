"""AvgPool2d: the mean of each window."""

from typing import Final

from typednn.kernels.avg_pool2d import cpu, reference
from typednn.kernels.op import Engine, flops_of, op

backward: Final = op(
    "avg_pool2d.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad", plan=cpu.plan_backward),
    flops=flops_of(
        reference.backward,
        lambda next_grad, input_shape, kernel_size, stride, padding, count_include_pad: (
            next_grad.size * kernel_size[0] * kernel_size[1]
        ),
    ),
)
forward: Final = op(
    "avg_pool2d.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x", plan=cpu.plan),
    flops=flops_of(
        reference.forward,
        lambda x, kernel_size, stride, padding, count_include_pad: (
            x.size * kernel_size[0] * kernel_size[1] // (stride[0] * stride[1])
        ),
    ),
    backward=backward,
)

__all__ = ["backward", "forward"]
