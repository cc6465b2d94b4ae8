"""ConvTranspose2d: conv2d's derivative by its input, as a forward."""

from typing import Final

from typednn.kernels.conv2d.cpu import is_finite
from typednn.kernels.conv_transpose2d import cpu, reference
from typednn.kernels.op import Engine, flops_of, op

backward: Final = op(
    "conv_transpose2d.backward",
    reference.backward,
    Engine("halide", cpu.backward, "next_grad x weight", plan=cpu.plan_backward),
    flops=flops_of(reference.backward, lambda next_grad, x, weight, window: 4 * x.size // x.shape[3] * weight.size),
)
forward: Final = op(
    "conv_transpose2d.forward",
    reference.forward,
    Engine(
        "halide",
        cpu.forward,
        "x weight bias",
        plan=cpu.plan,
        trusts=lambda arguments, _: is_finite(arguments[1]),
    ),
    Engine("blas", cpu.forward_by_products, "x weight bias", plan=cpu.plan_by_products),
    flops=flops_of(reference.forward, lambda x, weight, bias, window, shape: 2 * x.size // x.shape[3] * weight.size),
    keeps="x weight",
    backward=backward,
)

__all__ = ["backward", "forward"]
