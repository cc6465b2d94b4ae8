"""What layers share that normalise channels by a batch: which mean and variance a call takes, and the running ones.

In a thread that computes one part of a batch, the layers can have the statistics of all parts (`meeting_with`):

n = Σ n_p      mean = Σ n_p·mean_p / n      variance = Σ n_p·(variance_p + (mean_p - mean)²) / n
dx = weight·r·(dz - (Σ dbias_p + h·Σ dweight_p) / n)       p over the parts, with the names of `kernels.batch_norm`

Source: Chan, Golub and LeVeque 1979, "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances".
"""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
from jaxtyping import Float

from typednn.arrays import AnyArray, Array1
from typednn.errors import ShapeError, explain
from typednn.hooks import repeated
from typednn.kernels import batch_norm
from typednn.kernels.pointwise import add

X = TypeVar("X", bound=AnyArray)


@runtime_checkable
class Normalising(Protocol):
    """A layer with running statistics: PyTorch's arguments, parameters and buffers, under its names."""

    training: bool
    eps: float
    momentum: float
    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any
    num_batches_tracked: Any

    def label(self) -> str: ...


class Meeting(Protocol):
    """Where a part of a batch waits for the others."""

    divisor: float
    """What the loss of this part divided by: so much its derivatives count among those of all parts."""

    def __call__(self, layer: Normalising, numbers: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """The ``numbers`` of all parts, a row for each; of one that does not count, zeros."""
        ...


class _Here(threading.local):
    meeting: Meeting | None = None


_here = _Here()


@contextmanager
def meeting_with(meeting: Meeting) -> Generator[None]:
    """In this block and thread, layers have the statistics of all parts of a batch."""
    _here.meeting = meeting
    try:
        yield
    finally:
        _here.meeting = None


def meeting_here() -> Meeting | None:
    """Where this thread's part of a batch meets the others; None where it is the batch."""
    return _here.meeting


def divided(divisor: float | None) -> None:
    """Say what the loss of this thread's part of a batch divided by, before its backward; None for a sum."""
    if _here.meeting is not None:
        _here.meeting.divisor = divisor or 1.0  # where nothing counts, a sum of zeros


def infers(layer: Normalising) -> bool:
    """Whether a call takes the running mean and variance: in eval, where they are tracked."""
    return not layer.training and layer.running_mean is not None


def inferred(layer: Normalising, x: Float[X, "*batch channels"]) -> Float[X, "*batch channels"]:
    """The output by the running mean and variance."""
    return batch_norm.infer(x, layer.running_mean, layer.running_var, layer.weight, layer.bias, layer.eps)


def normalised(
    layer: Normalising, x: Float[X, "*batch channels"]
) -> tuple[Float[X, "*batch channels"], Float[Array1, " channels"], Float[Array1, " channels"]]:
    """(output, mean, variance) by the batch's mean and variance; while training the running ones follow them."""
    count, meeting = x.size // x.shape[-1], _here.meeting if layer.training else None
    found = None if meeting is None else _of_all(layer, x, count, meeting)
    if found is not None:
        count = found[2]
    if count < 2:
        rule = "a batch that gives its own mean and variance has at least two numbers for each channel"
        cure = "use a larger batch, or call eval()" if layer.running_mean is not None else "use a larger batch"
        raise ShapeError(explain(f"{layer.label()}.forward", rule, f"shape {tuple(x.shape)}", cure), layer)
    if found is None:
        y, mean, variance = batch_norm.forward(x, layer.weight, layer.bias, layer.eps)
    else:
        mean, variance, _ = found
        y = batch_norm.infer(x, mean, variance, layer.weight, layer.bias, layer.eps)
    if layer.training and layer.running_mean is not None:
        count_batch(layer.num_batches_tracked)
        batch_norm.track(layer.running_mean, layer.running_var, mean, variance, layer.momentum, count)
    return y, mean, variance


@repeated
def count_batch(tracked: Any) -> None:
    """One more batch, of which the running statistics know."""
    tracked[...] += 1


def derivatives(
    layer: Normalising,
    next_grad: Float[X, "*batch channels"],
    x: Float[AnyArray, "*batch channels"],
    mean: Float[Array1, " channels"],
    variance: Float[Array1, " channels"],
) -> tuple[Float[X, "*batch channels"], Float[Array1, " channels"], Float[Array1, " channels"]]:
    """(dx, dweight, dbias) of what `normalised` gave; the last two of this part of the batch."""
    dx, dweight, dbias = batch_norm.backward(next_grad, x, mean, variance, layer.weight, layer.bias, layer.eps)
    meeting = _here.meeting
    if meeting is None:
        return dx, dweight, dbias
    count = x.size // x.shape[-1]
    own = np.stack([dweight, dbias]).astype(np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # of what is not finite
        rows = meeting(layer, np.append(own * meeting.divisor, count))
        total = rows.sum(axis=0)
        # the kernel has taken away the means of this part: back with them, and those of all parts away
        rate = (1.0 if layer.weight is None else layer.weight) / np.sqrt(variance + layer.eps)
        slope, shift = rate * (own / count - total[:-1].reshape(own.shape) / (meeting.divisor * total[-1]))
        back = batch_norm.infer(x, mean, variance, slope.astype(x.dtype), shift.astype(x.dtype), layer.eps)
    return add(dx, back), dweight, dbias


def _of_all(
    layer: Normalising, x: Float[AnyArray, "*batch channels"], count: int, meeting: Meeting
) -> tuple[Array1, Array1, int]:
    """(mean, variance, count) of all parts of the batch."""
    _, mean, variance = batch_norm.forward(x, None, None, layer.eps)
    rows = meeting(layer, np.concatenate([mean, variance, [count]]).astype(np.float64))
    counts: Any = rows[:, -1:]
    means, variances = np.split(rows[:, :-1], 2, axis=1)
    total = counts.sum()
    with np.errstate(invalid="ignore", over="ignore"):
        whole = (counts * means).sum(axis=0) / total
        spread: Array1 = (counts * (variances + np.square(means - whole))).sum(axis=0) / total
    return whole.astype(x.dtype), spread, int(total)
