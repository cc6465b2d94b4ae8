"""MaxPool2d: the largest pixel of each window."""

from typing import Final

from typednn.engines.cuda import on_gpu
from typednn.kernels.max_pool2d import cpu, cuda, reference
from typednn.kernels.op import Engine, flops_of, op

_INDEX = {"index": "uint8 uint32"}

backward: Final = op(
    "max_pool2d.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad", others=_INDEX, plan=cpu.plan_backward),
    Engine("cuda", cuda.backward, "next_grad", others=_INDEX, sizes=cuda.covers_backward, on=on_gpu),
    flops=1,
)
forward: Final = op(
    "max_pool2d.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x", plan=cpu.plan),
    Engine("cuda", cuda.forward, "x", sizes=cuda.covers, on=on_gpu),
    flops=flops_of(
        reference.forward,
        lambda x, kernel_size, stride, dilation, padding=(0, 0): (
            x.size * kernel_size[0] * kernel_size[1] // (stride[0] * stride[1])
        ),
    ),
    keeps="index",
    backward=backward,
)
