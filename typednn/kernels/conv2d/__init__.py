"""Conv2d: cross-correlation of images with a bank of kernels, with an activation and max pooling after it."""

import math
from typing import Final

from typednn.arrays import AnyIntArray, Array4
from typednn.engines.cuda import on_gpu
from typednn.kernels.activations import IDENTITY, Activation
from typednn.kernels.conv2d import cpu, cuda, reference, winograd
from typednn.kernels.conv2d.geometry import Window
from typednn.kernels.op import Engine, flops_of, op

_ARRAYS, _WINNERS = "next_grad x weight y", {"winners": "uint8"}


def _flops(x: Array4, weight: Array4, window: Window) -> int:
    return 2 * x.shape[0] * math.prod(window.convolved(x.shape[1:3], weight.shape[1:3])) * weight.size


def _backward_flops(
    next_grad: Array4,
    x: Array4,
    weight: Array4,
    window: Window,
    activation: Activation = IDENTITY,
    y: Array4 | None = None,
    winners: AnyIntArray | None = None,
    wants_input: bool = True,
    wants_bias: bool = True,
) -> int:
    return (1 + wants_input) * _flops(x, weight, window)


backward: Final = op(
    "conv2d.backward",
    reference.backward,
    Engine(
        "winograd",
        winograd.backward,
        _ARRAYS,
        others=_WINNERS,
        plan=winograd.plan_backward,
        trusts=lambda _, results: winograd.trusts_backward(*results[:2]),
    ),
    Engine(
        "halide",
        cpu.backward,
        _ARRAYS,
        others=_WINNERS,
        plan=cpu.plan_backward,
        trusts=lambda arguments, results: results[0] is None or cpu.is_finite(arguments[2]),
    ),
    Engine("blas", cpu.backward_by_products, _ARRAYS, others=_WINNERS, plan=cpu.plan_by_products),
    Engine("cuda", cuda.backward, _ARRAYS, others={"winners": "uint8 uint32"}, sizes=cuda.covers_backward, on=on_gpu),
    flops=_backward_flops,
)
forward: Final = op(
    "conv2d.forward",
    reference.forward,
    Engine(
        "winograd",
        winograd.forward,
        "x weight bias",
        plan=winograd.plan,
        trusts=lambda _, results: winograd.trusts(results[0]),
    ),
    Engine("halide", cpu.forward, "x weight bias", plan=cpu.plan),
    Engine("cuda", cuda.forward, "x weight bias", sizes=cuda.covers, on=on_gpu),
    flops=flops_of(
        reference.forward, lambda x, weight, bias, window, activation=IDENTITY, keeps=True: _flops(x, weight, window)
    ),
    keeps="x weight y winners",
    backward=backward,
)


__all__ = ["Window", "backward", "forward"]
