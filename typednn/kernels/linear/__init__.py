"""Linear: an affine map and an activation, for every row of a batch."""

from typing import Final

from typednn.engines.cuda import on_gpu
from typednn.engines.precision import in_bfloat16
from typednn.kernels.activations import IDENTITY
from typednn.kernels.linear import bfloat16, cpu, cuda, reference
from typednn.kernels.op import Engine, flops_of, op

backward: Final = op(
    "linear.backward",
    reference.backward,
    Engine("bfloat16", bfloat16.backward, "next_grad x weight y", plan=bfloat16.plan_backward, on=in_bfloat16),
    Engine("halide", cpu.backward, "next_grad x weight y", plan=cpu.plan_backward),
    Engine("blas", cpu.backward_by_blas, "next_grad x weight y", plan=cpu.plan_backward_by_blas),
    Engine("cuda", cuda.backward, "next_grad x weight y", sizes=cuda.covers_backward, on=on_gpu),
    flops=flops_of(
        reference.backward,
        lambda next_grad, x, weight, y=None, activation=IDENTITY, wants_input=True: (
            (4 if wants_input else 2) * x.shape[0] * weight.size
        ),
    ),
)
forward: Final = op(
    "linear.forward",
    reference.forward,
    Engine("bfloat16", bfloat16.forward, "x weight bias", plan=bfloat16.plan, on=in_bfloat16),
    Engine("halide", cpu.forward, "x weight bias", plan=cpu.plan),
    Engine("blas", cpu.forward_by_blas, "x weight bias", plan=cpu.plan_by_blas),
    Engine("cuda", cuda.forward, "x weight bias", sizes=cuda.covers, on=on_gpu),
    flops=flops_of(reference.forward, lambda x, weight, bias, activation=IDENTITY: 2 * x.shape[0] * weight.size),
    keeps="x weight y",
    backward=backward,
)

__all__ = ["backward", "forward"]
