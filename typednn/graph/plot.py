"""The graph drawn: a DOT file, and beside it an SVG or PNG where Graphviz is installed.

    plot_graph([loss, *gradients], "step")     # step.dot and step.svg
    plot_graph([], "all.png")                  # all.dot and all.png: all nodes of this process

Each node says ``number x references``, its operation, its shape and dtype, and its name if it has one. Boxes:
constants, arrays, what comes from another device or from a `Function`; ovals: the rest. Coral: a tensor refers to the
node; aqua: only other nodes do. A dark red border: its numbers are known. Derivatives are nodes as others are. To draw
computes nothing.

Sources: zyx, ``Tensor::plot_graph``; the DOT language, graphviz.org/doc/info/lang.html.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

from typednn.errors import ArgumentError, DataError, explain
from typednn.files import path_of, write_whole
from typednn.graph.graph import GRAPH, Node
from typednn.graph.kinds import Kind
from typednn.graph.operations import OPERATIONS
from typednn.graph.tensor import AnyTensor, Tensor

_BOXES: Final = frozenset({Kind.CONST, Kind.LEAF, Kind.TO_DEVICE, Kind.CUSTOM})
_ENDINGS: Final = ("", ".dot", ".svg", ".png")


def plot_graph(tensors: Iterable[AnyTensor], path: str | Path) -> list[Path]:
    """Draw all that ``tensors`` are computed from, or with none of them the whole graph; the files that were written.

    The DOT file is always one of them. Where Graphviz' program ``dot`` is found, so is a PNG if ``path`` ends in .png,
    else an SVG. A `DataError` where a file cannot be written, an `ArgumentError` for another ending.
    """
    target = path_of("plot_graph", path)
    if target.suffix not in _ENDINGS or not target.name:
        rule = f"the path ends in {', '.join(_ENDINGS[1:])}, or has no ending"
        raise ArgumentError(explain("plot_graph", rule, repr(str(path))), "path")
    given: object = tensors
    if isinstance(given, Tensor):
        raise ArgumentError(explain("plot_graph", "draws several tensors", "one", "write [x]"), "tensors")
    drawn = list(tensors)
    for each in drawn:
        _check(each)
    dot = target.with_suffix(".dot")
    write_whole(dot, described(drawn).encode("utf-8", "backslashreplace"))
    program = shutil.which("dot")
    if program is None:
        return [dot]
    picture = target.with_suffix(".png" if target.suffix == ".png" else ".svg")
    command = [program, f"-T{picture.suffix[1:]}", "-o", str(picture.absolute()), str(dot.absolute())]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise DataError(
            explain("plot_graph", f"Graphviz draws {picture}", done.stderr.strip() or f"exit status {done.returncode}")
        )
    return [dot, picture]


def _check(given: object) -> None:
    if not isinstance(given, Tensor):
        raise ArgumentError(explain("plot_graph", "draws tensors", type(given).__name__), "tensors")


def described(tensors: Iterable[AnyTensor]) -> str:
    """The graph of these tensors in the DOT language; of all nodes if there are none."""
    graph = GRAPH
    held = [each.id for each in tensors]
    with graph.lock():
        graph.collect()
        numbers: Collection[int] = graph.ancestors(held) if held else list(graph.slab)
        read_by_nodes = Counter(each for number in graph.slab for each in graph.inputs(number))
        nodes = [(number, graph.node(number), graph.names.get(number, "")) for number in numbers]
    lines = ["strict digraph {", "  ordering=in", "  rank=source", "  rankdir=LR"]
    for number, node, name in nodes:
        label = [
            f"{number} x {node.references}",
            _operation(node),
            f"{node.shape} {node.dtype}",
            *([name] if name else []),
        ]
        shape = "box" if node.kind in _BOXES else "oval"
        colour = "coral" if node.references > read_by_nodes[number] else "aqua"
        border = " color=darkred penwidth=5" if node.is_realized else ""
        lines.append(f'  {number} [label="{_quoted(label)}" shape={shape} style=filled fillcolor={colour}{border}]')
    lines += [f"  {each} -> {number}" for number, node, _ in nodes for each in node.inputs]
    return "\n".join([*lines, "}", ""])


def _operation(node: Node) -> str:
    if node.kind in OPERATIONS:
        name = OPERATIONS[node.kind](node.operation).name
        return f"{name} {node.extra}" if node.kind == Kind.REDUCE else name
    if node.kind == Kind.CUSTOM:
        return f"CUSTOM {node.extra.name}"
    return node.kind.name if node.extra is None else f"{node.kind.name} {node.extra}"


def _quoted(lines: list[str]) -> str:
    """Lines of a label: within quotes only these, backslashes and line breaks mean something."""
    return "\\n".join(" ".join(line.replace("\\", "\\\\").replace('"', '\\"').split()) for line in lines)
