"""Upsample: an image with more pixels."""

from typing import Final

from typednn.kernels.op import Engine, flops_of, op
from typednn.kernels.upsample import cpu, reference
from typednn.kernels.upsample.reference import Mode


def _flops(numbers: int, mode: Mode) -> int:
    return numbers if mode == "nearest" else 6 * numbers


backward: Final = op(
    "upsample.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad", plan=cpu.plan_backward),
    flops=flops_of(
        reference.backward, lambda next_grad, scale_factor, mode, align_corners: _flops(next_grad.size, mode)
    ),
)
forward: Final = op(
    "upsample.forward",
    reference.forward,
    Engine("halide", cpu.forward, "x", plan=cpu.plan),
    flops=flops_of(
        reference.forward,
        lambda x, scale_factor, mode, align_corners: (
            0 if mode == "nearest" else 6 * x.size * scale_factor[0] * scale_factor[1]
        ),
    ),
    backward=backward,
)

__all__ = ["backward", "forward"]
