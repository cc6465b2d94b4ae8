"""Accumulation: the gradients of several batches, added up as that of one."""

from collections.abc import Iterable
from typing import Generic, final

from typing_extensions import TypeVar

from typednn.arguments import number
from typednn.errors import ArgumentError, explain
from typednn.module.gradients import Gradient
from typednn.optim.clipping import check_gradient

G = TypeVar("G", bound=Gradient)


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
        check_gradient(where, grad)
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
