"""Debugging: what a `realize` prints where the bits of `typednn.errors.debugging` ask for it."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

from typednn.arrays import is_floating, namespace
from typednn.errors import StateError, explain
from typednn.errors.debugging import Debug, is_on, on_change
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
    """A `StateError` where an instruction makes NaN of numbers. NaN that comes from its inputs is no fault of its own.

    What a whole op gives together is several arrays, each looked at by itself; those that it only keeps may be None.
    """
    given = list(_arrays(inputs))
    by_number = each.kind in (Kind.UNARY, Kind.BINARY, Kind.CAST)
    for result in _arrays((value,)):
        if not is_floating(result.dtype):
            continue
        xp: Any = namespace(result)
        made = xp.isnan(result)
        for array in (array for array in given if is_floating(array.dtype)):
            made = made & ~xp.isnan(array) if by_number else made & (not bool(xp.isnan(array).any()))
        if not bool(made.any()):
            continue
        place = tuple(int(axis[0]) for axis in xp.nonzero(made)) if result.ndim else ()
        of = " and ".join(str(array[place].item()) if by_number else str(array.shape) for array in given)
        got = f"{name_of(each)} of {of}, the first at {place} of {int(made.sum())} in {result.shape}"
        cure = "keep its inputs where it is defined, as in log(maximum(x, 1e-30))"
        raise StateError(explain("realize", "no operation makes NaN of numbers, as TYPEDNN_DEBUG 128 asks", got, cure))


def _arrays(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, tuple):
            yield from _arrays(cast("Any", value))
        elif value is not None:
            yield value
