"""Debugging: what a `realize` does, on standard error. ``TYPEDNN_DEBUG`` is a sum of bits; `debug` sets them for a block.

====  =========================================================================
bit   prints, for each `realize`
====  =========================================================================
1     what computes it: kernels, or the interpreter and why
2     how long each step took
4     the groups of instructions that became kernels
8     the program after all passes, an instruction on each line
16    the kernels as Halide's statements, where a program is planned
32    nothing: each node is checked when it is made, and one that can't be
      right is a `StateError`; for who writes operations
====  =========================================================================
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from enum import IntFlag
from pathlib import Path
from typing import Any, Final

from typednn.errors import ArgumentError, explain
from typednn.graph.graph import GRAPH


class Debug(IntFlag):
    """The bits of ``TYPEDNN_DEBUG``."""

    ENGINE = 1
    TIMES = 2
    GROUPS = 4
    PROGRAM = 8
    KERNELS = 16
    CHECKS = 32


def _checked(where: str, value: str | int) -> int:
    most = sum(Debug)
    if (isinstance(value, str) and not value.isdecimal()) or not 0 <= int(value) <= most:
        bits = ", ".join(f"{int(bit)} {bit.name}" for bit in Debug)
        raise ArgumentError(explain(where, f"is a sum of {bits}, from 0 to {most}", repr(value)), "mask")
    return int(value)


_masks: Final[list[tuple[int]]] = [(_checked("TYPEDNN_DEBUG", os.environ.get("TYPEDNN_DEBUG", "").strip() or "0"),)]


@contextmanager
def debug(mask: int) -> Generator[None]:
    """Within this block, in every thread, these bits are set, and no others."""
    own = (_checked("debug", mask),)
    _masks.append(own)
    _check_nodes()
    try:
        yield
    finally:
        _masks[:] = [other for other in _masks if other is not own]
        _check_nodes()


def is_on(bit: Debug) -> bool:
    """Whether ``bit`` is set now."""
    return bool(_masks[-1][0] & bit)


def any_on() -> bool:
    """Whether any bit is set now."""
    return _masks[-1][0] != 0


def _check_nodes() -> None:
    """Tell the graph whether to check new nodes: it doesn't ask each time, as a node takes 3 µs."""
    GRAPH.checks = is_on(Debug.CHECKS)


_check_nodes()


def say(text: str) -> None:
    """A line, or several, on standard error."""
    sys.stderr.write(f"typednn.graph: {text}\n")


def statement(kernel: Any) -> str:
    """The loops of a kernel, as Halide writes them."""
    from typednn.engines.halide import toolchain

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.stmt"
        toolchain.compile_text(kernel.plan, path, toolchain.host())
        return path.read_text(encoding="utf-8")
