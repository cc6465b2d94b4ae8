"""Batches: the rows that each step uses."""

from collections.abc import Iterator

from typednn.arguments import integer
from typednn.arrays import IntArray1
from typednn.errors import ArgumentError, explain
from typednn.random import Rng


def batches(n: int, batch_size: int, rng: Rng) -> Iterator[IntArray1]:
    """The rows ``0 … n-1`` once each, in an order drawn now from ``rng``, ``batch_size`` at a time; the last batch may be short.

    Images and labels stay together because both are indexed: ``for rows in batches(...): x[rows], y[rows]``.
    """
    n, batch_size = integer("batches", "n", n), integer("batches", "batch_size", batch_size)
    if not isinstance(rng, Rng):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
        raise ArgumentError(
            explain("batches", "rng must be a generator", type(rng).__name__, "pass numpy.random.default_rng(0) or PCG32(0)"), "rng"
        )
    order = rng.permutation(n)
    return (order[start : start + batch_size] for start in range(0, n, batch_size))


def in_order(n: int, batch_size: int) -> Iterator[slice]:
    """The rows ``0 … n-1`` in order, ``batch_size`` at a time, for evaluation."""
    n, batch_size = integer("in_order", "n", n), integer("in_order", "batch_size", batch_size)
    return (slice(start, min(start + batch_size, n)) for start in range(0, n, batch_size))
