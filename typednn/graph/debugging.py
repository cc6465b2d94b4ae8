"""Debugging: what a `realize` prints where the bits of `typednn.debugging` ask for it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from typednn.arrays import is_floating, namespace
from typednn.debugging import Debug, is_on, on_change
from typednn.errors import StateError, explain
from typednn.graph.graph import GRAPH
from typednn.graph.kinds import Kind
from typednn.graph.program import Instruction, name_of


def _check_nodes() -> None:
    """Tell the graph whether to check new nodes: it doesn't ask each time, as a node takes 3 µs."""
    GRAPH.checks = is_on(Debug.CHECKS)


on_change(_check_nodes)


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


def refuse_nan(each: Instruction, inputs: Sequence[Any], value: Any) -> None:
    """A `StateError` where an instruction makes NaN of numbers. NaN that comes from its inputs is no fault of its own."""
    if isinstance(value, tuple) or not is_floating(value.dtype):
        return
    xp: Any = namespace(value)
    made = xp.isnan(value)
    by_number = each.kind in (Kind.UNARY, Kind.BINARY, Kind.CAST)
    for given in inputs:
        if is_floating(given.dtype):
            made = made & ~xp.isnan(given) if by_number else made & (not bool(xp.isnan(given).any()))
    if not bool(made.any()):
        return
    place = tuple(int(axis[0]) for axis in xp.nonzero(made)) if value.ndim else ()
    of = " and ".join(str(given[place].item()) for given in inputs) if by_number else " and ".join(str(given.shape) for given in inputs)
    got = f"{name_of(each)} of {of}, the first at {place} of {int(made.sum())} in {value.shape}"
    cure = "keep its inputs where it is defined, as in log(maximum(x, 1e-30))"
    raise StateError(explain("realize", "no operation makes NaN of numbers, as TYPEDNN_DEBUG 128 asks", got, cure))
