"""Squared error in Halide: one pass over memory each. The formulas are those of reference.py, and so are the bits."""

from __future__ import annotations

from typing import Any, TypeVar

from typednn.arrays import AnyArray
from typednn.engines import Cpu, Scalar, empty, kernel, record
from typednn.kernels.elementwise import ELEMENTS, scheduled

P = TypeVar("P", bound=AnyArray)


def _build_elementwise(hl: Any, cpu: Cpu, prediction: Any, target: Any) -> Any:
    i, loss = hl.Var("i"), hl.Func("loss")
    difference = prediction[i] - target[i]
    loss[i] = difference * difference
    return scheduled(hl, cpu, loss, i, prediction.dim(0).extent())


def _build_gradient(hl: Any, cpu: Cpu, prediction: Any, target: Any, factor: Any) -> Any:
    i, grad = hl.Var("i"), hl.Func("grad")
    grad[i] = factor * (prediction[i] - target[i])
    return scheduled(hl, cpu, grad, i, prediction.dim(0).extent())


_elementwise = kernel("mse.elementwise", _build_elementwise, inputs=(ELEMENTS, ELEMENTS), outputs=(ELEMENTS,))
_gradient = kernel("mse.gradient", _build_gradient, inputs=(ELEMENTS, ELEMENTS, Scalar()), outputs=(ELEMENTS,))


def elementwise(prediction: P, target: P) -> P:
    """The loss of each element."""
    loss: P = empty(prediction.shape)
    _elementwise(prediction, target, loss)
    record("mse.elementwise", "halide")
    return loss


def gradient(prediction: P, target: P, scale: float) -> P:
    """The scaled loss by each prediction."""
    grad: P = empty(prediction.shape)
    _gradient(prediction, target, 2 * scale, grad)
    record("mse.gradient", "halide")
    return grad
