"""LayerNorm and RMSNorm: rows of variance 1, or of mean square 1."""

from typing import Final

from typednn.engines.cuda import on_gpu
from typednn.kernels.layer_norm import cpu, cuda, reference
from typednn.kernels.op import Engine, op

backward: Final = op(
    "layer_norm.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad x weight", plan=cpu.plan_backward),
    Engine("cuda", cuda.backward, "next_grad x weight", sizes=cuda.covers_backward, on=on_gpu),
    flops=16,
)
forward: Final = op(
    "layer_norm.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x weight bias", plan=cpu.plan),
    Engine("cuda", cuda.forward, "x weight bias", sizes=cuda.covers, on=on_gpu),
    flops=8,
    keeps="x weight",
    backward=backward,
)
