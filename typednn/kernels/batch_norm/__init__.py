"""BatchNorm: channels of mean 0 and variance 1."""

from typing import Final

from typednn.kernels.batch_norm import cpu, reference
from typednn.kernels.op import Engine, op

backward: Final = op(
    "batch_norm.backward",
    reference.backward,
    Engine(
        "halide", cpu.backward, "next_grad x mean weight bias", others={"variance": "float64"}, plan=cpu.plan_backward
    ),
    flops=10,
)
forward: Final = op(
    "batch_norm.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x weight bias", plan=cpu.plan),
    flops=6,
    keeps="x mean variance weight bias",
    backward=backward,
)
infer: Final = op(
    "batch_norm.infer",
    reference.infer,
    Engine("halide", cpu.infer, "x mean weight bias", others={"variance": "float32 float64"}, plan=cpu.plan_infer),
    flops=3,
)
track: Final = op(
    "batch_norm.track",
    reference.track,
    flops=7,
    writes="running_mean running_var",
)
