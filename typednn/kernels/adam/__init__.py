"""Adam: a step scaled by the running mean and spread of the gradient."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.engines.cuda import on_gpu
from typednn.kernels.adam import cpu, cuda, reference
from typednn.kernels.op import Engine, op

step: Final = op(
    "adam.step",
    reference.step,
    Engine("halide", cpu.step, "weights grad m v", aligned=True),
    Engine("cuda", cuda.step, "weights grad m v", same_shape=True, on=on_gpu),
    flops=lambda weights, *_: 12 * weights.size,
    writes="weights m v",
)
