"""Debugging: what a `realize` prints where the bits of `typednn.debugging` ask for it."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from typednn.debugging import Debug, is_on, on_change
from typednn.graph.graph import GRAPH


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
