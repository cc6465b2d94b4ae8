"""Which engine ran each op, so that a benchmark or a test can't measure the wrong one.

An op says ``record("relu.forward", "halide")``; nobody listens unless asked:

    with counting() as counts:
        model.forward(x)
    counts[("relu.forward", "halide")]

``TYPEDNN_ENGINES=report`` in the environment prints the counts of the whole process when it ends.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager
from threading import Lock

Counts = Counter[tuple[str, str]]

_listeners: list[Counts] = []
_lock = Lock()


def record(op: str, engine: str) -> None:
    """Note that ``engine`` ran ``op``."""
    if _listeners:
        with _lock:
            for counts in _listeners:
                counts[op, engine] += 1


@contextmanager
def counting() -> Generator[Counts]:
    """Count, in every thread, how often each engine runs each op."""
    counts: Counts = Counter()
    with _lock:
        _listeners.append(counts)
    try:
        yield counts
    finally:
        with _lock:
            _listeners[:] = [other for other in _listeners if other is not counts]


def report(counts: Counts) -> str:
    """A line per op and engine, the busiest first."""
    lines = [f"{count:>8}  {op}  {engine}" for (op, engine), count in counts.most_common()]
    return "\n".join(["typednn: which engine ran each op", *(lines or ["    none"])])


def _report_at_exit() -> None:
    whole: Counts = Counter()
    _listeners.append(whole)
    atexit.register(lambda: print(report(whole), file=sys.stderr))  # noqa: T201


def _after_fork() -> None:
    global _lock
    _lock = Lock()  # whoever held the old one is not in this process


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

if os.environ.get("TYPEDNN_ENGINES") == "report":
    _report_at_exit()
