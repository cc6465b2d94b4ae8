"""The Protocol of `fit`'s batches of inputs and targets, with a position that can be saved; how losses of batches count
together.
"""

from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeVar

X = TypeVar("X", covariant=True)
Y = TypeVar("Y", covariant=True)


def divisor_of(loss: object, prediction: Any, target: Any) -> float | None:
    """What the loss's mean over this batch divided by, 0 where nothing counts; None where the loss is a sum, which
    batches add to.
    """
    divisor: Callable[[Any, Any], float | None] | None = getattr(loss, "divisor", None)
    return divisor(prediction, target) if callable(divisor) else float(len(prediction))


def mean(summed: float, divisor: float) -> float:
    """The loss of batches together, as of one: Σ loss·divisor by Σ divisor. Of sums, and where nothing counts,
    ``summed`` as it is.
    """
    return summed / (divisor or 1.0)


class BatchLike(Protocol[X, Y]):
    """Inputs and targets of one batch. It may have ``sample_weight`` (batch) too: what each row counts in the loss; and
    ``whole``: how many rows the batch has, where these are those that `typednn.parallel.DataParallel.own_rows` says.
    """

    @property
    def x(self) -> X: ...
    @property
    def y(self) -> Y: ...


class Batches(Protocol[X, Y]):
    """The data of `fit`: `typednn.data.Loader`, or any object that behaves like it.

    ``epoch`` epochs are complete, and ``step`` batches of the next were taken, including the current one. ``batches()``
    gives the rest; at its end ``epoch`` grows by one and ``step`` is 0. ``load_state_dict`` of a ``state_dict`` (JSON)
    continues with the same batches.

    Its class may have ``shared_batches(own)`` too. A training in parallel calls that in place of ``batches()``, and
    gets batches of a rank's own rows: ``own(rows)`` gives the slices of a batch of so many.
    """

    @property
    def steps_per_epoch(self) -> int: ...
    @property
    def epoch(self) -> int: ...
    @property
    def step(self) -> int: ...
    def batches(self) -> Iterator[BatchLike[X, Y]]: ...
    def state_dict(self) -> dict[str, Any]: ...
    def load_state_dict(self, state: dict[str, Any], /) -> None: ...
