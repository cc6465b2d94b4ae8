"""LogSoftmax: the logarithms of the distribution that softmax makes of a row."""

from typing import Final

from typednn.kernels.log_softmax import cpu, reference
from typednn.kernels.op import Engine, op
from typednn.kernels.softmax import cpu as softmax

backward: Final = op(
    "log_softmax.backward",
    reference.backward,
    Engine("halide", softmax.backward, "next_grad y", same_shape=True, plan=cpu.plan),
    flops=4,
)
forward: Final = op(
    "log_softmax.forward",
    reference.forward,
    Engine("halide", softmax.forward, "x", plan=cpu.plan),
    flops=6,
    keeps="y",
    backward=backward,
)
