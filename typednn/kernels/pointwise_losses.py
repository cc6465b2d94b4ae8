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

# Lambdas take the arguments of the op.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import inspect
from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast

import numpy as np
from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.engines import nan, type_of
from typednn.kernels.elementwise import SMALL, constant, decay, is_positive
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

    def on_arrays(xp: Any, *arguments: Any) -> tuple[Any, Any]:
        return forward.on_arrays(xp, *arguments[:-1]), backward.on_arrays(xp, *arguments)

    def on_numbers(hl: Any, *arguments: Any) -> Any:
        return hl.Tuple([forward.on_numbers(hl, *arguments[:-1]), backward.on_numbers(hl, *arguments)])

    setattr(on_arrays, "__signature__", inspect.signature(backward.on_arrays))  # noqa: B010
    declared: Any = Formula(
        on_arrays,
        on_numbers,
        arrays=2,
        flops=forward.flops + backward.flops,
        uses_exp=forward.uses_exp,
        least=forward.least,
        sizes=backward.sizes,
        results=2,
    ).op(f"{loss.name}.forward_and_backward")
    return declared  # type: ignore[no-any-return]


def _squared(square: Callable[[Any], Any], factor: Any, difference: Any) -> tuple[Any, Any]:
    return square(difference), factor * difference


mse: Final = Pointwise(
    "mse",
    Formula(
        lambda xp, prediction, target: xp.square(prediction - target),
        lambda hl, prediction, target: (prediction - target) * (prediction - target),
        arrays=2,
        flops=2,
        least=SMALL + 1,
    ),
    Formula(
        lambda xp, prediction, target, scale: (2 * scale) * (prediction - target),
        lambda hl, prediction, target, scale: (2 * scale) * (prediction - target),
        arrays=2,
        flops=2,
        least=SMALL + 1,
    ),
    keeps="prediction target",
)

mse_forward_and_backward: Final[Both] = cast(
    "Both",
    Formula(
        lambda xp, prediction, target, scale: _squared(xp.square, 2 * scale, prediction - target),
        lambda hl, prediction, target, scale: hl.Tuple(
            _squared(lambda difference: difference * difference, 2 * scale, prediction - target)
        ),
        arrays=2,
        flops=3,
        least=SMALL + 1,
        results=2,
    ).op("mse.forward_and_backward"),
)


def _times(where: Callable[..., Any], share: Any, value: Any) -> Any:
    """share·value, 0 where the share is 0, whatever the value is."""
    return where(share == 0, 0, share * value)


def _log(hl: Any, p: Any, eps: Any) -> Any:
    """log(max(p, eps)). Halide's logarithm handles neither infinity nor NaN; other numbers have smaller bits."""
    bits = type_of(p).bits()
    infinite = hl.reinterpret(hl.Int(bits), p) >= nan.infinity(hl, p)
    largest = constant(hl, p, float(np.finfo(f"float{bits}").max))
    return hl.select(infinite | nan.is_nan(hl, p), p, hl.log(hl.clamp(p, eps, largest)))


cross_entropy: Final = Pointwise(
    "cross_entropy",
    Formula(
        lambda xp, prediction, target, eps: _times(xp.where, target, -xp.log(xp.maximum(prediction, eps))),
        lambda hl, prediction, target, eps: _times(hl.select, target, -_log(hl, prediction, eps)),
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
        lambda hl, prediction, target, eps, scale: (
            hl.select(target == 0, 0, -target / nan.maximum(hl, prediction, eps)) * scale
        ),
        arrays=2,
        flops=3,
        sizes=lambda prediction, target, eps, scale: eps >= 1e-37,
    ),
    keeps="prediction target",
)


def _l1_slope(hl: Any, difference: Any, scale: Any) -> Any:
    flat = hl.select(nan.is_nan(hl, difference), difference, 0)
    return hl.select(is_positive(hl, difference), scale, hl.select(is_positive(hl, -difference), -scale, flat))


l1: Final = Pointwise(
    "l1",
    Formula(
        lambda xp, prediction, target: abs(prediction - target),
        lambda hl, prediction, target: hl.abs(prediction - target),
        arrays=2,
        flops=2,
        least=SMALL + 1,
    ),
    Formula(
        lambda xp, prediction, target, scale: xp.sign(prediction - target) * scale,
        lambda hl, prediction, target, scale: _l1_slope(hl, prediction - target, scale),
        arrays=2,
        flops=2,
        least=SMALL + 1,
    ),
    keeps="prediction target",
)
l1_forward_and_backward: Final = _both(l1)


def _huber(minimum: Callable[[Any, Any], Any], distance: Any, delta: Any) -> Any:
    near = minimum(distance, delta)
    return near * (distance - near * 0.5)


huber: Final = Pointwise(
    "huber",
    Formula(
        lambda xp, prediction, target, delta: _huber(xp.minimum, abs(prediction - target), delta),
        lambda hl, prediction, target, delta: _huber(hl.min, hl.abs(prediction - target), delta),
        arrays=2,
        flops=6,
    ),
    Formula(
        lambda xp, prediction, target, delta, scale: xp.clip(prediction - target, -delta, delta) * scale,
        lambda hl, prediction, target, delta, scale: _cut(hl, prediction - target, delta) * scale,
        arrays=2,
        flops=4,
    ),
    keeps="prediction target",
)


def _cut(hl: Any, difference: Any, delta: Any) -> Any:
    return hl.select(nan.is_nan(hl, difference), difference, hl.clamp(difference, -delta, delta))


huber_forward_and_backward: Final = _both(huber)


def _bce(xp: Any, x: Any, t: Any, pos_weight: Any) -> Any:
    near = xp.log1p(xp.exp(-abs(x)))
    return _times(xp.where, 1 - t, xp.maximum(x, 0) + near) + _times(xp.where, pos_weight * t, xp.maximum(-x, 0) + near)


def _bce_slope(xp: Any, x: Any, t: Any, pos_weight: Any, scale: Any) -> Any:
    decayed = xp.exp(-abs(x))
    less, more = decayed / (1 + decayed), 1 / (1 + decayed)  # sigmoid of -|x| and of |x|
    no, yes = (
        _times(xp.where, 1 - t, xp.where(x < 0, less, more)),
        _times(xp.where, pos_weight * t, xp.where(x < 0, more, less)),
    )
    return (no - yes) * scale


def _bce_kernel(hl: Any, x: Any, t: Any, pos_weight: Any) -> Any:
    decayed = decay(hl, -hl.abs(x))
    # log1p: the error of 1 + decayed is in the quotient too, and cancels out.
    above = hl.strict_float(1 + decayed)
    quotient = hl.log(above) * decayed / hl.strict_float(above - 1)
    near = hl.select(nan.is_nan(hl, decayed) | (above == 1), decayed, quotient)
    no, yes = (
        _times(hl.select, 1 - t, nan.relu(hl, x) + near),
        _times(hl.select, pos_weight * t, nan.relu(hl, -x) + near),
    )
    return hl.strict_float(no + yes)  # infinity minus nothing is infinity, and a sum is rounded alike beside the slope


def _bce_slope_kernel(hl: Any, x: Any, t: Any, pos_weight: Any, scale: Any) -> Any:
    decayed = decay(hl, -hl.abs(x))
    less, more = decayed / (1 + decayed), 1 / (1 + decayed)
    no, yes = (
        _times(hl.select, 1 - t, hl.select(x < 0, less, more)),
        _times(hl.select, pos_weight * t, hl.select(x < 0, more, less)),
    )
    return hl.strict_float(no - yes) * scale


# A weight for each class is an array along the last axis, which the reference broadcasts.
bce_with_logits: Final = Pointwise(
    "bce_with_logits",
    Formula(
        _bce,
        _bce_kernel,
        arrays=2,
        flops=12,
        uses_exp=True,
        sizes=lambda prediction, target, pos_weight: isinstance(pos_weight, float),
    ),
    Formula(
        _bce_slope,
        _bce_slope_kernel,
        arrays=2,
        flops=10,
        uses_exp=True,
        sizes=lambda prediction, target, pos_weight, scale: isinstance(pos_weight, float),
    ),
    keeps="prediction target",
)
bce_with_logits_forward_and_backward: Final = _both(bce_with_logits)


def _kl_div(xp: Any, x: Any, t: Any) -> Any:
    return xp.where(t == 0, 0, t * (xp.log(xp.where(t == 0, 1, t)) - x))


def _kl_div_kernel(hl: Any, x: Any, t: Any) -> Any:
    """Denormal targets count as the smallest normal number in the logarithm alone; a negative target gives NaN."""
    real = type_of(t)
    undefined = hl.reinterpret(real, nan.infinity(hl, t) + 1)
    log = _log(hl, t, constant(hl, t, float(np.finfo(f"float{real.bits()}").tiny)))
    return hl.select(t == 0, 0, hl.select(t < 0, undefined, t * (log - x)))


kl_div: Final = Pointwise(
    "kl_div",
    Formula(_kl_div, _kl_div_kernel, arrays=2, flops=3, uses_exp=True),
    Formula(
        lambda xp, prediction, target, scale: -target * scale,
        lambda hl, prediction, target, scale: -target * scale,
        arrays=2,
        least=SMALL + 1,
    ),
    keeps="prediction target",
)
kl_div_forward_and_backward: Final = _both(kl_div)


def _kl_div_of_logs(where: Callable[..., Any], p: Any, x: Any, t: Any) -> Any:
    return where(p == 0, 0, p * (t - x))


kl_div_of_logs: Final = Pointwise(
    "kl_div_of_logs",
    Formula(
        lambda xp, prediction, target: _kl_div_of_logs(xp.where, xp.exp(target), prediction, target),
        lambda hl, prediction, target: _kl_div_of_logs(hl.select, nan.exp(hl, target), prediction, target),
        arrays=2,
        flops=3,
        uses_exp=True,
    ),
    Formula(
        lambda xp, prediction, target, scale: -xp.exp(target) * scale,
        lambda hl, prediction, target, scale: -nan.exp(hl, target) * scale,
        arrays=2,
        flops=2,
        uses_exp=True,
    ),
    keeps="prediction target",
)
kl_div_of_logs_forward_and_backward: Final = _both(kl_div_of_logs)
