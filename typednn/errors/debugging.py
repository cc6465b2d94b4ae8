"""Debugging: what typednn tells while it runs, and how much of itself it shows in a traceback.

``TYPEDNN_DEBUG`` is a sum of bits; `debug` sets them for a block.

====  =========================================================================
bit   for each `typednn.graph.realize` it prints, on standard error
====  =========================================================================
1     what computes it: kernels, or the interpreter and why
2     how long each step took
4     the groups of instructions that became kernels
8     the program after all passes, an instruction on each line
16    the kernels as Halide's statements, where a program is planned
32    nothing: each node of the graph is checked when it is made, and one that
      can't be right is a `StateError`; for who writes operations
64    nothing: a traceback keeps its lines within typednn (`typednn.errors.public`)
128   nothing: the interpreter computes, and an operation that makes NaN of
      numbers is a `StateError`, which names it and the first place
====  =========================================================================
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from enum import IntFlag
from typing import Final

from typednn.errors import ArgumentError, explain


class Debug(IntFlag):
    """The bits of ``TYPEDNN_DEBUG``."""

    ENGINE = 1
    TIMES = 2
    GROUPS = 4
    PROGRAM = 8
    KERNELS = 16
    CHECKS = 32
    FRAMES = 64
    NAN = 128


def _checked(where: str, value: str | int) -> int:
    most = sum(Debug)
    if (isinstance(value, str) and not value.isdecimal()) or not 0 <= int(value) <= most:
        bits = ", ".join(f"{int(bit)} {bit.name}" for bit in Debug)
        raise ArgumentError(explain(where, f"is a sum of {bits}, from 0 to {most}", repr(value)), "mask")
    return int(value)


_masks: Final[list[tuple[int]]] = [(_checked("TYPEDNN_DEBUG", os.environ.get("TYPEDNN_DEBUG", "").strip() or "0"),)]

_told: Final[list[Callable[[], None]]] = []


@contextmanager
def debug(mask: int) -> Generator[None]:
    """Within this block, in every thread, these bits are set, and no others."""
    own = (_checked("debug", mask),)
    _masks.append(own)
    _changed()
    try:
        yield
    finally:
        _masks[:] = [other for other in _masks if other is not own]
        _changed()


def is_on(bit: Debug) -> bool:
    """Whether ``bit`` is set now."""
    return bool(_masks[-1][0] & bit)


def any_printed() -> bool:
    """Whether any bit is set now that prints something."""
    return _masks[-1][0] & ~(Debug.CHECKS | Debug.FRAMES | Debug.NAN) != 0


def on_change(call: Callable[[], None]) -> None:
    """Have ``call`` called now, and whenever the bits change: for what is too quick to ask `is_on` each time."""
    _told.append(call)
    call()


def _changed() -> None:
    for call in _told:
        call()
