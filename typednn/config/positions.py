"""The places of all keys and values in a TOML text, by tree-sitter; tomllib gives the values.

`Positions` maps paths such as ``("layer", 7, "in_features")`` to them. The text is known to be valid TOML by then. What
the grammar does not understand has no place; errors about it point at the item around it.
"""

import tomllib
from collections.abc import Iterator
from typing import TypeAlias

import tree_sitter_toml
from tree_sitter import Language, Node, Parser

from typednn.config.source import Place, Source

Path: TypeAlias = tuple[str | int, ...]
Places: TypeAlias = dict[Path, tuple[Place, Place]]  # path -> place of the key, place of the value

_KEYS = ("bare_key", "quoted_key", "dotted_key")


class Positions:
    """``places`` holds those of the key and of the value of every path."""

    def __init__(self, source: Source) -> None:
        data = source.text.encode()
        self.lines: list[bytes] = data.split(b"\n")
        self.places: Places = {}
        self.last: dict[Path, int] = {}  # the place of the last element of each [[array of tables]]
        root = Parser(Language(tree_sitter_toml.language())).parse(data).root_node
        self._pairs((), root)
        for node in root.children:
            if node.type in ("table", "table_array_element"):
                self._table(node)

    def _table(self, node: Node) -> None:
        header = next((child for child in node.children if child.type in _KEYS), None)
        if header is None:
            return
        place, path = self._place(header), self._path((), header)
        if node.type == "table_array_element":
            self.last[path] = self.last.get(path, -1) + 1
            self.places.setdefault(path, (place, place))
            path = (*path, self.last[path])
        self.places[path] = (place, place)
        self._pairs(path, node)

    def _pairs(self, path: Path, node: Node) -> None:
        """The pairs of the table at ``path``."""
        for pair in node.children:
            key = next((child for child in pair.children if child.type in _KEYS), None)
            value = next(
                (child for child in pair.children if child.is_named and child.type not in (*_KEYS, "comment")), None
            )
            if pair.type == "pair" and key is not None and value is not None:
                self._value(self._path(path, key), self._place(key), value)

    def _path(self, path: Path, key: Node) -> Path:
        """The path of ``key`` in the table at ``path``; an array of tables stands for its last table."""
        place = self._place(key)
        *above, name = _words(key)
        for word in above:
            path = (*path, word)
            self.places.setdefault(path, (place, place))
            path = (*path, self.last[path]) if path in self.last else path
        return (*path, name)

    def _value(self, path: Path, key: Place | None, node: Node) -> None:
        place = self._place(node)
        self.places[path] = (key or place, place)
        if node.type == "array":
            for index, element in enumerate(
                child for child in node.children if child.is_named and child.type != "comment"
            ):
                self._value((*path, index), None, element)
        elif node.type == "inline_table":
            self._pairs(path, node)

    def _place(self, node: Node) -> Place:
        (row, start), (end_row, end) = node.start_point, node.end_point
        line = self.lines[row]
        text = line[start:end] if end_row == row else line[start:].removesuffix(b"\r")
        return Place(row + 1, len(line[:start].decode()) + 1, max(1, len(text.decode())))


def _words(key: Node) -> Iterator[str]:
    """The words of a key, quotes and escapes resolved."""
    text = (key.text or b"").decode()
    match key.type:
        case "dotted_key":
            for child in key.children:
                if child.type in _KEYS:
                    yield from _words(child)
        case "quoted_key":
            yield next(iter(tomllib.loads(f"{text} = 0")))
        case _:
            yield text
