"""Which engine ran each op, for benchmarks, tests and tracers.

Every op reports its runs (`typednn.kernels.op`) to the observers that are registered:

    with counting() as counts:
        model.forward(x)
    counts["relu.forward", "halide"]

    with observing(lambda ran: print(ran.op.name, ran.engine, ran.seconds)):
        model.forward(x)

``TYPEDNN_ENGINES=report`` in the environment prints the counts of the whole process when it ends.
"""

import atexit
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, NamedTuple

from typednn.engines.locks import Lock

Counts = Counter[tuple[str, str]]


class Ran(NamedTuple):
    """One run of an op: its engine, arguments, result and time."""

    op: Any
    engine: str
    arguments: tuple[Any, ...]
    result: Any
    seconds: float


Observer = Callable[[Ran], object]

observers: list[Observer] = []


class _Running(threading.local):
    """How many ops are running in this thread, one in the other."""

    ops: int = 0


running: _Running = _Running()


@contextmanager
def observing(observer: Observer) -> Generator[None]:
    """Within this block, in every thread, ``observer`` is called with each run of an op."""
    observers.append(observer)
    try:
        yield
    finally:
        # By identity: two observers may be equal.
        observers[:] = [other for other in observers if other is not observer]


class _Counting:
    """Counts runs under a lock, which `Counter` itself lacks."""

    def __init__(self) -> None:
        self.counts: Counts = Counter()
        self.lock = Lock()

    def __call__(self, ran: Ran) -> None:
        with self.lock():
            self.counts[ran.op.name, ran.engine] += 1


@contextmanager
def counting() -> Generator[Counts]:
    """Count, in every thread, how often each engine runs each op."""
    observer = _Counting()
    with observing(observer):
        yield observer.counts


def report(counts: Counts) -> str:
    """A line per op and engine, the busiest first."""
    lines = [f"{count:>8}  {op}  {engine}" for (op, engine), count in counts.most_common()]
    return "\n".join(["typednn: which engine ran each op", *(lines or ["    none"])])


if os.environ.get("TYPEDNN_ENGINES") == "report":
    _all_runs = _Counting()
    observers.append(_all_runs)
    atexit.register(lambda: print(report(_all_runs.counts), file=sys.stderr))  # noqa: T201
