"""Pointwise losses, before their reduction: a table of formulas, as in `typednn.kernels.pointwise`. x is the
prediction, t the target.

===============  ==========================================  ====================================================
op               forward                                     backward, times scale
===============  ==========================================  ====================================================
mse              (x - t)²                                    2·(x - t)
l1               |x - t|                                     sign(x - t), 0 where they are equal
huber            m·(|x - t| - m/2), m = min(|x - t|, delta)  x - t, cut off at ±delta
cross_entropy    -t·log(max(x, eps))                         -t / max(x, eps)
bce_with_logits  (1 - t)·s(x) + pos_weight·t·s(-x)           (1 - t)·sigmoid(x) - pos_weight·t·sigmoid(-x)
kl_div           t·(log t - x), 0 where t is 0               -t
kl_div_of_logs   exp(t)·(t - x), 0 where exp(t) is 0         -exp(t)
===============  ==========================================  ====================================================

s(x) = log(1 + exp(x)) is computed as max(x, 0) + log1p(exp(-|x|)), which neither overflows nor loses the digits of a
small loss. With pos_weight 1 the loss is max(x, 0) - x·t + log1p(exp(-|x|)).

Sources: "Deep Learning Implementation With Rust", eqs 40-43 (eq 43 with the target that it leaves out; below eps the
loss is flat, yet its derivative stays -target/eps, so that a confident mistake can be unlearnt); Huber, "Robust
Estimation of a Location Parameter", 1964; Kullback and Leibler, "On Information and Sufficiency", 1951; log1p by way of
log: Goldberg, "What Every Computer Scientist Should Know About Floating-Point Arithmetic", 1991, theorem 4.
"""

# Formulas are lambdas of arrays or symbols, and of their module.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import inspect
from typing import Any, Final, Protocol, TypeVar, cast

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.engines import hl, nan, type_of
from typednn.kernels.elementwise import SMALL, constant
from typednn.kernels.expressions import decay, for_arrays, is_negative
from typednn.kernels.pointwise import Formula, Pointwise

P = TypeVar("P", bound=AnyArray)


class Both(Protocol):
    """The losses and their derivatives by the prediction, in one pass."""

    def __call__(
        self, prediction: Float[P, "*shape"], target: Float[AnyArray, "*shape"], /, *numbers: Any
    ) -> tuple[Float[P, "*shape"], Float[P, "*shape"]]: ...


def _both(loss: Pointwise) -> Both:
    """The op of loss and derivative in one pass. Kernels compute once what the two formulas share."""
    forward, backward = loss.formulas

    def formula(xp: Any, *arguments: Any) -> tuple[Any, Any]:
        return forward.on_arrays(xp, *arguments[:-1]), backward.on_arrays(xp, *arguments)

    setattr(formula, "__signature__", inspect.signature(backward.on_arrays))  # noqa: B010
    declared = Formula(
        formula,
        arrays=2,
        flops=forward.flops + backward.flops,
        uses_exp=forward.uses_exp,
        least=forward.least,
        sizes=backward.sizes,
        results=2,
    ).op(f"{loss.name}.forward_and_backward")
    return cast("Both", declared)


mse: Final = Pointwise(
    "mse",
    Formula(lambda xp, prediction, target: xp.square(prediction - target), arrays=2, flops=2, least=SMALL + 1),
    Formula(
        lambda xp, prediction, target, scale: (2 * scale) * (prediction - target), arrays=2, flops=2, least=SMALL + 1
    ),
    keeps="prediction target",
)


def _mse_and_slope(xp: Any, prediction: Any, target: Any, scale: Any) -> tuple[Any, Any]:
    difference = prediction - target
    return xp.square(difference), 2 * scale * difference


mse_forward_and_backward: Final[Both] = cast(
    "Both",
    Formula(_mse_and_slope, arrays=2, flops=3, least=SMALL + 1, results=2).op("mse.forward_and_backward"),
)


def _times(xp: Any, share: Any, value: Any) -> Any:
    """share·value, 0 where the share is 0, whatever the value is."""
    return xp.where(share == 0, 0, share * value)


def _log(p: "hl.Expr", least: "hl.Expr") -> "hl.Expr":
    """log(max(p, least)). Halide's logarithm handles neither infinity nor NaN; other numbers have smaller bits."""
    bits = type_of(p).bits()
    infinite = hl.reinterpret(hl.Int(bits), p) >= nan.infinity(p)
    largest = constant(p, float(np.finfo(f"float{bits}").max))
    return hl.select(infinite | nan.is_nan(p), p, hl.log(hl.clamp(p, least, largest)))


_log_from: Final = for_arrays(lambda xp, p, least: xp.log(xp.maximum(p, least)))(_log)

cross_entropy: Final = Pointwise(
    "cross_entropy",
    Formula(
        lambda xp, prediction, target, eps: _times(xp, target, -_log_from(xp, prediction, eps)),
        arrays=2,
        flops=3,
        uses_exp=True,
        # Smaller numbers may be denormal or 0: the reference takes their logarithms.
        sizes=lambda prediction, target, eps: eps >= 1e-37,
    ),
    Formula(
        lambda xp, prediction, target, eps, scale: (
            xp.where(target == 0, 0, -target / xp.maximum(prediction, eps)) * scale
        ),
        arrays=2,
        flops=3,
        sizes=lambda prediction, target, eps, scale: eps >= 1e-37,
    ),
    keeps="prediction target",
)

l1: Final = Pointwise(
    "l1",
    Formula(lambda xp, prediction, target: abs(prediction - target), arrays=2, flops=2, least=SMALL + 1),
    Formula(
        lambda xp, prediction, target, scale: xp.sign(prediction - target) * scale, arrays=2, flops=2, least=SMALL + 1
    ),
    keeps="prediction target",
)
l1_forward_and_backward: Final = _both(l1)


def _huber(xp: Any, prediction: Any, target: Any, delta: Any) -> Any:
    distance = abs(prediction - target)
    near = xp.minimum(distance, delta)
    return near * (distance - near * 0.5)


huber: Final = Pointwise(
    "huber",
    Formula(_huber, arrays=2, flops=6),
    Formula(
        lambda xp, prediction, target, delta, scale: xp.clip(prediction - target, -delta, delta) * scale,
        arrays=2,
        flops=4,
    ),
    keeps="prediction target",
)
huber_forward_and_backward: Final = _both(huber)


@for_arrays(lambda xp, x: xp.log1p(x))
def _log1p(x: "hl.Expr") -> "hl.Expr":
    """log(1 + x) for 0 <= x <= 1. In a kernel the error of 1 + x is in the quotient too, and cancels out."""
    above = hl.strict_float(1 + x)
    quotient = hl.log(above) * x / hl.strict_float(above - 1)
    return hl.select(nan.is_nan(x) | (above == 1), x, quotient)


@for_arrays(lambda xp, x: x)
def _strict(x: "hl.Expr") -> "hl.Expr":
    """x. In a kernel infinity minus nothing is infinity only so, and a sum is rounded alike beside the slope."""
    return hl.strict_float(x)


def _bce(xp: Any, x: Any, t: Any, pos_weight: Any) -> Any:
    near = _log1p(xp, decay(xp, -abs(x)))
    return _strict(
        xp, _times(xp, 1 - t, xp.maximum(x, 0) + near) + _times(xp, pos_weight * t, xp.maximum(-x, 0) + near)
    )


def _bce_slope(xp: Any, x: Any, t: Any, pos_weight: Any, scale: Any) -> Any:
    decayed, below = decay(xp, -abs(x)), is_negative(xp, x)
    less, more = decayed / (1 + decayed), 1 / (1 + decayed)  # sigmoid of -|x| and of |x|
    no, yes = (
        _times(xp, 1 - t, xp.where(below, less, more)),
        _times(xp, pos_weight * t, xp.where(below, more, less)),
    )
    return _strict(xp, no - yes) * scale


# A weight for each class is an array along the last axis, which the reference broadcasts.
bce_with_logits: Final = Pointwise(
    "bce_with_logits",
    Formula(
        _bce,
        arrays=2,
        flops=12,
        uses_exp=True,
        sizes=lambda prediction, target, pos_weight: isinstance(pos_weight, float),
    ),
    Formula(
        _bce_slope,
        arrays=2,
        flops=10,
        uses_exp=True,
        sizes=lambda prediction, target, pos_weight, scale: isinstance(pos_weight, float),
    ),
    keeps="prediction target",
)
bce_with_logits_forward_and_backward: Final = _both(bce_with_logits)


@for_arrays(lambda xp, t: xp.log(xp.where(t == 0, 1, t)))
def _log_of_share(t: "hl.Expr") -> "hl.Expr":
    """log t, any number where t is 0. In a kernel denormal numbers count as the smallest normal one."""
    return _log(t, constant(t, float(np.finfo(f"float{type_of(t).bits()}").tiny)))


@for_arrays(lambda xp, t, value: value)
def _defined(t: "hl.Expr", value: "hl.Expr") -> "hl.Expr":
    """The value, which is NaN where t is negative: in a kernel the logarithm there is a number."""
    return hl.select(t < 0, hl.reinterpret(type_of(t), nan.infinity(t) + 1), value)


def _kl_div(xp: Any, x: Any, t: Any) -> Any:
    return xp.where(t == 0, 0, _defined(xp, t, t * (_log_of_share(xp, t) - x)))


kl_div: Final = Pointwise(
    "kl_div",
    Formula(_kl_div, arrays=2, flops=3, uses_exp=True),
    Formula(lambda xp, prediction, target, scale: -target * scale, arrays=2, least=SMALL + 1),
    keeps="prediction target",
)
kl_div_forward_and_backward: Final = _both(kl_div)

kl_div_of_logs: Final = Pointwise(
    "kl_div_of_logs",
    Formula(
        lambda xp, prediction, target: _times(xp, xp.exp(target), target - prediction),
        arrays=2,
        flops=3,
        uses_exp=True,
    ),
    Formula(lambda xp, prediction, target, scale: -xp.exp(target) * scale, arrays=2, flops=2, uses_exp=True),
    keeps="prediction target",
)
kl_div_of_logs_forward_and_backward: Final = _both(kl_div_of_logs)
