"""Plots: the DOT text, read back."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from typednn.errors import ArgumentError, DataError
from typednn.graph.custom import Function
from typednn.graph.graph import GRAPH
from typednn.graph.plot import plot_graph
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor, realize, tensor, to_device

NODE = re.compile(r'  (\d+) \[label="((?:[^"\\]|\\.)*)" shape=(box|oval) style=filled fillcolor=(coral|aqua)( color=darkred penwidth=5)?\]')
EDGE = re.compile(r"  (\d+) -> (\d+)")
HEAD = ["strict digraph {", "  ordering=in", "  rank=source", "  rankdir=LR"]


class Drawn(NamedTuple):
    label: list[str]
    shape: str
    colour: str
    is_realized: bool


def read(path: Path) -> tuple[dict[int, Drawn], set[tuple[int, int]]]:
    """Nodes and edges; every line must be one of these, and every edge between nodes."""
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[:4] == HEAD
    assert lines[-1] == "}"
    nodes: dict[int, Drawn] = {}
    edges: set[tuple[int, int]] = set()
    for line in lines[4:-1]:
        if node := NODE.fullmatch(line):
            nodes[int(node[1])] = Drawn(node[2].split("\\n"), node[3], node[4], node[5] is not None)
        else:
            edge = EDGE.fullmatch(line)
            assert edge, line
            edges.add((int(edge[1]), int(edge[2])))
    assert {place for edge in edges for place in edge} <= set(nodes)
    return nodes, edges


@pytest.fixture(autouse=True)
def without_graphviz(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typednn.graph.plot.shutil.which", lambda name: None)


class Doubled(Function):
    def forward(self, x: Any) -> Any:
        return 2 * x


def test_nodes_and_edges(tmp_path: Path) -> None:
    """X-D13, Z-F8: numbers, references, operations, shapes, names; boxes and ovals; who holds it; what is realized."""
    x = tensor(np.ones((2, 3)), name="x")
    y = (x * x).sum(axis=1).named("y").realize()
    z = Doubled()(to_device(y + 1.0, "cpu"))
    written = plot_graph([z], tmp_path / "graph")
    assert written == [tmp_path / "graph.dot"]
    nodes, edges = read(written[0])
    (moved,) = GRAPH.inputs(z.id)
    (added,) = GRAPH.inputs(moved)
    _, one = GRAPH.inputs(added)
    assert nodes == {
        y.id: Drawn([f"{y.id} x 2", "LEAF", "(2,) float64", "y"], "box", "coral", True),
        one: Drawn([f"{one} x 1", "CONST 1.0", "(2,) float64"], "box", "aqua", False),
        added: Drawn([f"{added} x 1", "ADD", "(2,) float64"], "oval", "aqua", False),
        moved: Drawn([f"{moved} x 1", "TO_DEVICE cpu", "(2,) float64"], "box", "aqua", False),
        z.id: Drawn([f"{z.id} x 1", "CUSTOM Doubled", "(2,) float64"], "box", "coral", False),
    }
    assert edges == {(y.id, added), (one, added), (added, moved), (moved, z.id)}


def test_an_empty_list_draws_all(tmp_path: Path) -> None:
    """X-D13"""
    x = tensor(np.ones((2, 3)))
    y = x.T.sum(axis=0, keepdims=True)
    nodes, edges = read(plot_graph([], tmp_path / "all.dot")[0])
    assert set(nodes) == set(GRAPH.slab)
    assert {x.id, y.id} <= set(nodes)
    assert len(edges) == len({(each, number) for number in GRAPH.slab for each in GRAPH.inputs(number)})
    assert [nodes[number].label[1] for number in GRAPH.ancestors([y.id])] == ["LEAF", "PERMUTE (1, 0)", "SUM (0,)", "RESHAPE"]


def test_gradients_are_drawn(tmp_path: Path) -> None:
    """Z-F8: they are nodes as others are, realized under the tape or not."""
    x, w = tensor(np.ones((2, 3)), name="x"), tensor(np.ones(3), name="w")
    with Tape() as tape:
        loss = (x * w).sum()
        found: list[AnyTensor] = tape.gradient_persistent(loss, [x, w], zeros=True)
        realize(loss)
        nodes, _ = read(plot_graph([loss, *found], tmp_path / "step")[0])
        assert set(nodes) == set(GRAPH.ancestors([loss.id, *(each.id for each in found)]))
        assert nodes[loss.id] == Drawn([f"{loss.id} x 1", "SUM (0, 1)", "() float64"], "oval", "coral", True)
        assert not nodes[found[0].id].is_realized
        assert {"x", "w"} <= {node.label[-1] for node in nodes.values()}


def test_nothing_is_computed(tmp_path: Path) -> None:
    """X-D13"""
    x = tensor(np.ones(3))
    y = x + x
    plot_graph([y], tmp_path / "graph")
    assert not y.is_realized


@pytest.mark.parametrize("name", ['a "b"', "back\\slash", "two\nlines", "x]", "größe", "\\"])
def test_names_of_all_kinds(name: str, tmp_path: Path) -> None:
    """X-D13: quotes, backslashes and line breaks do not end a label."""
    x = tensor(np.ones(3), name=name)
    nodes, _ = read(plot_graph([x], tmp_path / "graph")[0])
    assert list(nodes) == [x.id]
    (label,) = re.findall(r'label="((?:[^"\\]|\\.)*)"', (tmp_path / "graph.dot").read_text(encoding="utf-8"))
    shown = re.sub(r"\\(.)", lambda found: "\n" if found[1] == "n" else found[1], label).split("\n")
    assert shown[3] == " ".join(name.split())


def test_pictures_where_graphviz_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """X-D13: an SVG beside the DOT file, a PNG on request; the DOT file stays. A stand-in for Graphviz notes how it is called."""
    stand_in = tmp_path / "dot"
    stand_in.write_text('#!/bin/sh\necho "$1" > "$3"\ntest -s "$4"\n', encoding="utf-8")
    stand_in.chmod(0o755)
    monkeypatch.setattr("typednn.graph.plot.shutil.which", lambda name: str(stand_in))
    x = tensor(np.ones(3))
    for name, ending in (("a", "svg"), ("b.svg", "svg"), ("c.dot", "svg"), ("d.png", "png")):
        dot, picture = plot_graph([x], tmp_path / name)
        assert (dot.name, picture.name) == (f"{name[0]}.dot", f"{name[0]}.{ending}")
        assert picture.read_text(encoding="utf-8") == f"-T{ending}\n"
        read(dot)
    stand_in.write_text("#!/bin/sh\necho no fonts >&2\nexit 3\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"Graphviz draws .*got no fonts"):
        plot_graph([x], tmp_path / "e")


def test_what_is_refused(tmp_path: Path) -> None:
    """X-D13: one clear error for a path that is none, or cannot be written."""
    x = tensor(np.ones(3))
    for path, message in ((tmp_path / "a.pdf", "ends in"), ("", "name of a file"), (None, "name of a file"), ("a\0b", "name of a file")):
        with pytest.raises(ArgumentError, match=message):
            plot_graph([x], path)  # type: ignore[arg-type]
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(DataError, match="must be writable"):
        plot_graph([x], tmp_path / "file" / "graph")
    with pytest.raises(ArgumentError, match=r"draws several tensors, got one; write \[x\]"):
        plot_graph(x, tmp_path / "a")  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="draws tensors, got int"):
        plot_graph([3], tmp_path / "a")  # type: ignore[list-item]
    assert not (tmp_path / "a.dot").exists()
