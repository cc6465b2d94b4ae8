"""Functions applied to a gradient between backward and update: pure, from gradient to gradient."""

import math
from collections.abc import Iterable
from typing import Generic, final

import numpy as np
from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, explain
from typednn.module.gradients import Gradient

G = TypeVar("G", bound=Gradient)


def clip_grad_norm(grad: G, max_norm: float) -> G:
    """``grad`` scaled so that its norm over all parameters is at most ``max_norm``, as torch.nn.utils.clip_grad_norm_
    does.

    A NaN or an infinity in it is an error, as with PyTorch's ``error_if_nonfinite=True``: no factor makes such a
    gradient small.
    """
    where = "clip_grad_norm"
    largest = number(where, "max_norm", max_norm, least=0.0)
    _check_gradient(where, grad)
    norm = grad.norm()
    if not math.isfinite(norm):
        broken = [name for name, leaf in grad.leaves().items() if not np.isfinite(to_numpy(leaf)).all()]
        got = f"NaN or infinity in {', '.join(broken)}" if broken else "a sum of squares beyond float64"
        raise ArgumentError(
            explain(
                where, "a gradient that is clipped is finite", got, "leave this batch out, or lower the learning rate"
            ),
            "grad",
        )
    factor = largest / (norm + 1e-6)
    return grad * factor if factor < 1.0 else grad


def accumulate(grads: Iterable[G], divisors: Iterable[float | None] | None = None) -> G:
    """The gradient of several batches as one batch: Σ grad·divisor / Σ divisor.

    ``divisors``: for each gradient what its batch's loss divided by, as ``loss.divisor(prediction, target)`` tells: its
    rows, or its labels that count. None for a loss that is a sum: these gradients are added. Left out, all batches
    count the same.
    """
    where, given = "accumulate", None if divisors is None else list(divisors)
    total: Summed[G] = Summed()
    count = 0
    for count, grad in enumerate(grads, 1):
        _check_gradient(where, grad)
        divisor = 1.0 if given is None else given[count - 1] if count <= len(given) else None
        total.add(
            grad, None if divisor is None else number(where, "each divisor", divisor, least=0.0, argument="divisors")
        )
    if not count:
        raise ArgumentError(explain(where, "needs at least one gradient", "none"), "grads")
    if given is not None and len(given) != count:
        raise ArgumentError(explain(where, f"divisors has one for each gradient, {count}", str(len(given))), "divisors")
    return total.mean()


@final
class Summed(Generic[G]):
    """The gradients of several batches added up, in the memory of two."""

    def __init__(self) -> None:
        self._total: G | None = None
        self._first = self._whole = 0.0

    def add(self, grad: G, divisor: float | None) -> None:
        """One more gradient, and what its batch's loss divided by; None where the loss is a sum."""
        self._first = self._first or divisor or 0.0  # gradients are added in multiples of the first, which are near 1
        self._whole += divisor or 0.0
        if divisor is not None and divisor != self._first:
            grad = grad * (divisor / self._first)
        self._total = grad if self._total is None else self._total + grad

    def mean(self) -> G:
        """Σ grad·divisor / Σ divisor of the gradients that were added, one at least."""
        assert self._total is not None, "there is one"
        return self._total if self._whole == self._first else self._total * (self._first / self._whole)


def _check_gradient(where: str, grad: object) -> None:
    if not isinstance(grad, Gradient):
        raise ArgumentError(explain(where, "takes what backward gives, a Gradient", type(grad).__name__))
