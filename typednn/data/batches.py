"""Batches: the rows that each step uses."""

from collections.abc import Iterator

from typednn.arguments import flag, integer
from typednn.arrays import IntArray1
from typednn.errors import ArgumentError, explain
from typednn.random import Rng


def batches_in(n: int, batch_size: int, *, drop_last: bool = False) -> int:
    """How many batches an epoch of ``n`` rows has: a last row that would be alone belongs to the batch before it.

    A batch of one row has no variance, which batch normalisation needs. ``drop_last`` leaves out the rows that fill no
    batch; an `ArgumentError` where that are all.
    """
    if drop_last and n < batch_size:
        got, cure = f"{n} rows and batch_size={batch_size}", "take smaller batches, or leave drop_last out"
        raise ArgumentError(explain("drop_last", "needs rows for one whole batch", got, cure), "drop_last")
    if drop_last:
        return n // batch_size
    return max(1, -(-n // batch_size) - (n % batch_size == 1))


def batches(n: int, batch_size: int, rng: Rng, *, drop_last: bool = False) -> Iterator[IntArray1]:
    """The rows ``0 … n-1`` once each, in an order drawn now from ``rng``, ``batch_size`` at a time; the last batch may
    be short.

    A last row that would be alone belongs to the batch before; ``drop_last`` leaves out the rows that fill no batch.

    Images and labels stay together because both are indexed: ``for rows in batches(...): x[rows], y[rows]``.
    """
    n, batch_size = integer("batches", "n", n), integer("batches", "batch_size", batch_size)
    if not isinstance(rng, Rng):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
        raise ArgumentError(
            explain(
                "batches", "rng must be a generator", type(rng).__name__, "pass numpy.random.default_rng(0) or PCG32(0)"
            ),
            "rng",
        )
    count, order = batches_in(n, batch_size, drop_last=flag("batches", "drop_last", drop_last)), rng.permutation(n)
    return (order[rows_in(place, count, n, batch_size, drop_last=drop_last)] for place in range(count))


def rows_in(place: int, count: int, n: int, batch_size: int, *, drop_last: bool = False) -> slice:
    """Which of ``n`` rows, in their order, are in the batch at ``place`` of ``count``."""
    last = place == count - 1 and not drop_last
    return slice(place * batch_size, n if last else (place + 1) * batch_size)


def in_order(n: int, batch_size: int) -> Iterator[slice]:
    """The rows ``0 … n-1`` in order, ``batch_size`` at a time, for evaluation."""
    n, batch_size = integer("in_order", "n", n), integer("in_order", "batch_size", batch_size)
    return (slice(start, min(start + batch_size, n)) for start in range(0, n, batch_size))
