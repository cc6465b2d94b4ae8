"""Rehearsals: which kernels a computation calls, found by running it on copies of its objects, without computing.

Whoever starts a computation that may be repeated on copies says how, with `expecting` or by `asked`. When a kernel is
called that has to be compiled, the rehearsal runs on a thread of its own. There a kernel that is not compiled is only
noted, and its outputs are zeros.
"""

import os
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from typednn.engines.halide.parallel import Show

Rehearsal = Callable[[], object]

# Asked, on the thread that computes, for a rehearsal of what it computes: of a model's forward, for one.
asked: list[Callable[[], Rehearsal | None]] = []


class _Here(threading.local):
    noted: list[Any] | None = None  # the kernels of the rehearsal that this thread runs
    expected: tuple[Rehearsal, Show | None] | None = None


_here = _Here()


@contextmanager
def expecting(rehearsal: Rehearsal, show: Show | None) -> Generator[None]:
    """In this block and thread, ``rehearsal`` repeats what is computed; ``show`` gets the progress of compiling, None
    is silent.
    """
    before, _here.expected = _here.expected, (rehearsal, show)
    try:
        yield
    finally:
        _here.expected = before


def expected() -> tuple[Rehearsal, Show | None] | None:
    """The rehearsal of what this thread computes, and how to show the progress; None if nobody knows one."""
    if _here.expected is not None:
        return _here.expected
    return next(((found, progress_line) for ask in asked if (found := ask()) is not None), None)


def progress_line(done: int, total: int, name: str) -> None:
    """On a terminal a line of standard error that goes away at the end; elsewhere, and with ``NO_COLOR``, one that
    stays.
    """
    stream = sys.stderr
    text = f"typednn compiles {total} kernels for these sizes and this processor"
    if stream is None:
        return
    if stream.isatty() and not os.environ.get("NO_COLOR"):
        stream.write(f"\r\x1b[K{text}: {done} done, {name}" if done < total else "\r\x1b[K")
    elif not done:
        stream.write(f"{text}\n")
    stream.flush()


def rehearsing() -> bool:
    """Whether this thread only rehearses."""
    return _here.noted is not None


def note(kernel: object) -> None:
    """Keep in mind that the computation calls ``kernel``."""
    if _here.noted is not None:
        _here.noted.append(kernel)


def noted(rehearsal: Rehearsal) -> list[Any]:
    """What is noted in ``rehearsal``, which may end with an error: then it is what comes before it."""
    kernels: list[Any] = []

    def run() -> None:
        _here.noted = kernels
        with suppress(Exception), np.errstate(all="ignore"):
            rehearsal()

    thread = threading.Thread(target=run, daemon=True)  # with no call of a layer in progress
    thread.start()
    thread.join()
    return kernels
