"""BatchNorm: channels of mean 0 and variance 1."""

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from typing import Final

from typednn.kernels.batch_norm import cpu, reference
from typednn.kernels.op import Engine, op

backward: Final = op(
    "batch_norm.backward",
    reference.backward,
    Engine(
        "halide", cpu.backward, "next_grad x mean weight bias", others={"variance": "float64"}, plan=cpu.plan_backward
    ),
    flops=lambda next_grad, x, mean, variance, weight, bias, eps, activation: 10 * x.size,
)
forward: Final = op(
    "batch_norm.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x weight bias", plan=cpu.plan),
    flops=lambda x, weight, bias, eps, activation: 6 * x.size,
    keeps="x mean variance weight bias",
    backward=backward,
)
infer: Final = op(
    "batch_norm.infer",
    reference.infer,
    Engine("halide", cpu.infer, "x mean weight bias", others={"variance": "float32 float64"}, plan=cpu.plan_infer),
    flops=lambda x, mean, variance, weight, bias, eps, activation: 3 * x.size,
)
track: Final = op(
    "batch_norm.track",
    reference.track,
    flops=lambda running_mean, running_var, mean, variance, momentum, count: 7 * mean.size,
    writes="running_mean running_var",
)
