"""Cross entropy of probabilities in Halide: one pass over memory each, and one logarithm per element of the loss."""

from __future__ import annotations

from typing import Any, TypeVar

from typednn.arrays import AnyArray
from typednn.engines import Cpu, Scalar, empty, kernel, nan, record
from typednn.kernels.elementwise import DEAR, ELEMENTS, scheduled

P = TypeVar("P", bound=AnyArray)

# The logarithm of a number below, 0 or denormal, is the reference's affair.
LEAST_EPS = 1e-37


def _build_elementwise(hl: Any, cpu: Cpu, prediction: Any, target: Any, eps: Any) -> Any:
    i, loss = hl.Var("i"), hl.Func("loss")
    p = prediction[i]
    bounded = hl.log(hl.clamp(p, eps, hl.f32(3.4028234e38)))
    # Halide's logarithm knows neither infinity nor NaN, and what is neither has smaller bits than both.
    endless = hl.reinterpret(hl.Int(32), p) >= hl.i32(0x7F800000)
    log = hl.select(endless | nan.is_nan(hl, p), p, bounded)
    loss[i] = -log * target[i]
    return scheduled(hl, cpu, loss, i, prediction.dim(0).extent(), DEAR)


def _build_gradient(hl: Any, cpu: Cpu, prediction: Any, target: Any, eps: Any, scale: Any) -> Any:
    i, grad = hl.Var("i"), hl.Func("grad")
    grad[i] = -target[i] / nan.maximum(hl, prediction[i], eps) * scale
    return scheduled(hl, cpu, grad, i, prediction.dim(0).extent())


_elementwise = kernel("cross_entropy.elementwise", _build_elementwise, inputs=(ELEMENTS, ELEMENTS, Scalar()), outputs=(ELEMENTS,))
_gradient = kernel("cross_entropy.gradient", _build_gradient, inputs=(ELEMENTS, ELEMENTS, Scalar(), Scalar()), outputs=(ELEMENTS,))


def elementwise(prediction: P, target: P, eps: float) -> P:
    """The loss of each element."""
    loss: P = empty(prediction.shape)
    _elementwise(prediction, target, eps, loss)
    record("cross_entropy.elementwise", "halide")
    return loss


def gradient(prediction: P, target: P, eps: float, scale: float) -> P:
    """The scaled loss by each prediction."""
    grad: P = empty(prediction.shape)
    _gradient(prediction, target, eps, scale, grad)
    record("cross_entropy.gradient", "halide")
    return grad
