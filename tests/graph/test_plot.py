"""Plots: the DOT text, read by a parser of the language, and drawn by Graphviz where it is installed."""

import re
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from PIL import Image

from typednn.errors import ArgumentError, DataError
from typednn.graph.custom import Function
from typednn.graph.graph import GRAPH
from typednn.graph.nodes import realize, tensor, to_device
from typednn.graph.plot import plot_graph
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor

TOKEN = re.compile(
    r'\s*(?:("(?:[^"\\]|\\.)*")|(->|[{}\[\]=;,])|([A-Za-z_\x80-\uffff][\w\x80-\uffff]*|-?(?:\.\d+|\d+(?:\.\d*)?)))',
    re.S,
)
HEAD = {"ordering": "in", "rank": "source", "rankdir": "LR"}


class Drawn(NamedTuple):
    label: list[str]
    shape: str
    colour: str
    is_realized: bool


class Dot:
    """A digraph in the DOT language (graphviz.org/doc/info/lang.html) without ports, subgraphs and HTML: its
    attributes, nodes, edges.
    """

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        place = 0
        while text[place:].strip():
            token = TOKEN.match(text, place)
            assert token, f"no DOT: {text[place : place + 40]!r}"
            place = token.end()
            self._tokens.append(token[0].strip())
        self.attributes: dict[str, str] = {}
        self.nodes: dict[str, dict[str, str]] = {}
        self.edges: set[tuple[str, str]] = set()
        assert self._tokens[:3] == ["strict", "digraph", "{"]
        del self._tokens[:3]
        while self._tokens[0] != "}":
            self._statement()
        assert self._tokens == ["}"]

    def _name(self) -> str:
        token = self._tokens.pop(0)
        assert token[0] not in "{}[]=;,", token
        return token

    def _statement(self) -> None:
        name = self._name()
        if self._tokens[0] == "=":
            del self._tokens[0]
            self.attributes[name] = self._name()
        elif self._tokens[0] == "->":
            while self._tokens[0] == "->":
                del self._tokens[0]
                self.edges.add((name, name := self._name()))
        else:
            self.nodes[name] = self._list()
        if self._tokens[0] == ";":
            del self._tokens[0]

    def _list(self) -> dict[str, str]:
        found: dict[str, str] = {}
        if self._tokens[0] != "[":
            return found
        del self._tokens[0]
        while self._tokens[0] != "]":
            name = self._name()
            assert self._tokens.pop(0) == "="
            found[name] = self._name()
            if self._tokens[0] in (",", ";"):
                del self._tokens[0]
        del self._tokens[0]
        return found


def read(path: Path) -> tuple[dict[int, Drawn], set[tuple[int, int]]]:
    """Nodes and edges, every edge between nodes; attributes that are not known are none."""
    dot = Dot(path.read_text(encoding="utf-8"))
    assert dot.attributes == HEAD
    nodes: dict[int, Drawn] = {}
    for name, given in dot.nodes.items():
        border = {"color": "darkred", "penwidth": "5"} if "color" in given else {}
        label = given["label"][1:-1].split("\\n")
        assert given == {
            "label": given["label"],
            "shape": given["shape"],
            "style": "filled",
            "fillcolor": given["fillcolor"],
            **border,
        }
        nodes[int(name)] = Drawn(label, given["shape"], given["fillcolor"], bool(border))
    edges = {(int(start), int(end)) for start, end in dot.edges}
    assert {place for edge in edges for place in edge} <= set(nodes)
    return nodes, edges


@pytest.mark.parametrize(
    "text",
    [
        "digraph {}",
        "strict digraph {",
        "strict digraph { 1 [label=] }",
        'strict digraph { 1 [label="a] }',
        "strict digraph { 1 -> }",
        "strict digraph {} }",
    ],
)
def test_the_parser_refuses_what_is_no_dot(text: str) -> None:
    with pytest.raises((AssertionError, IndexError)):
        Dot(text)


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
    assert [nodes[number].label[1] for number in GRAPH.ancestors([y.id])] == [
        "LEAF",
        "PERMUTE (1, 0)",
        "SUM (0,)",
        "RESHAPE",
    ]


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
    """X-D13: an SVG beside the DOT file, a PNG on request; the DOT file stays. A stand-in for Graphviz notes how it is
    called.
    """
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


GRAPHVIZ = shutil.which("dot")


@pytest.mark.skipif(GRAPHVIZ is None, reason="needs Graphviz")
def test_graphviz_draws_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """X-D13: the real program reads the file, whatever the names, and draws each node and edge."""
    monkeypatch.setattr("typednn.graph.plot.shutil.which", lambda name: GRAPHVIZ)
    x = tensor(np.ones((2, 3)), name='a "b" \\ größe <b>')
    y = (x * x + 1.0).sum(axis=1).named("strict digraph").realize()
    z = Doubled()(y)
    dot, picture = plot_graph([z], tmp_path / "graph")
    nodes, edges = read(dot)
    drawn = [each.get("class") for each in ET.parse(picture).iter() if each.get("class")]
    assert (drawn.count("node"), drawn.count("edge")) == (len(nodes), len(edges))
    with Image.open(plot_graph([z], tmp_path / "graph.png")[1]) as image:
        assert min(image.size) > 50


def test_what_is_refused(tmp_path: Path) -> None:
    """X-D13: one clear error for a path that is none, or cannot be written."""
    x = tensor(np.ones(3))
    for path, message in (
        (tmp_path / "a.pdf", "ends in"),
        ("", "name of a file"),
        (None, "name of a file"),
        ("a\0b", "name of a file"),
    ):
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
