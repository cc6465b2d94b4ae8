"""Pad2d: a border around every image."""

from typing import Final

from typednn.engines.cuda import on_gpu
from typednn.kernels.op import Engine, flops_of, op
from typednn.kernels.pad2d import cpu, cuda, reference

backward: Final = op(
    "pad2d.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad", plan=cpu.plan_backward),
    Engine("cuda", cuda.backward, "next_grad", sizes=cuda.covers_backward, on=on_gpu),
    flops=flops_of(reference.backward, lambda next_grad, padding, mode: next_grad.size if mode == "replicate" else 0),
)
forward: Final = op(
    "pad2d.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x", plan=cpu.plan),
    Engine("cuda", cuda.forward, "x", sizes=cuda.covers, on=on_gpu),
    flops=0,
    backward=backward,
)

__all__ = ["backward", "forward"]
