"""The axis names in a text's annotations: each with all the places where it means the same.

A name means one thing in a function, with the functions in it; outside of functions in one statement. A name in the
fields of a class means the same in all of its methods.
"""

import ast
import keyword
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from lsprotocol import types

from typednn.language_server.shown import Page
from typednn.shapes import DTYPE_WORDS

_STRING = re.compile(r"""[rRuU]?("{3}|'{3}|"|')(.*)\1""")
_WORD = re.compile(r"(?P<title>\w+=)?(?P<marks>[*#?_]*)(?P<size>\S*)")
_BRACES = re.compile(r"\{[^}]*\}")
_NAME = re.compile(r"[^\W\d]\w*\b(?!\()")


class Axis(NamedTuple):
    """One name in one annotation."""

    name: str
    place: types.Range
    scope: ast.stmt  # the function or the statement
    owner: ast.ClassDef | None  # the class that it stands in


def axes(page: Page) -> list[Axis]:
    """All of them, in the order of the text; none of a text that cannot be parsed."""
    try:
        module = ast.parse(page.text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return sorted(_within(page, module.body, None), key=lambda axis: axis.place.start)


def same(found: Iterable[Axis], at: types.Position) -> list[Axis]:
    """The name at a place, wherever it means the same; none where no name stands there."""
    found = list(found)
    asked = next((axis for axis in found if axis.place.start <= at <= axis.place.end), None)
    if asked is None:
        return []
    named = [axis for axis in found if axis.name == asked.name]
    of_class = [axis for axis in named if axis.owner is not None and axis.owner is asked.owner]
    return of_class if any(map(_is_field, of_class)) else [axis for axis in named if axis.scope is asked.scope]


def clash(found: Iterable[Axis], renamed: Iterable[Axis], new: str) -> str | None:
    """Why the name cannot become another one; None where it can."""
    renamed = list(renamed)
    if not new.isidentifier() or keyword.iskeyword(new) or new.startswith("_"):
        return f"{new!r} cannot name an axis: a name is letters, digits and _, and begins with a letter"
    for axis in found:
        together = any(
            axis.scope is one.scope or (axis.owner is not None and axis.owner is one.owner) for one in renamed
        )
        if together and axis.name == new and new != renamed[0].name:
            line = axis.place.start.line + 1
            return f"{new} is another axis here, in line {line}: the two would become one; choose another name"
    return None


def _is_field(axis: Axis) -> bool:
    return axis.owner is not None and not isinstance(axis.scope, ast.FunctionDef | ast.AsyncFunctionDef)


def _within(page: Page, statements: Iterable[ast.stmt], owner: ast.ClassDef | None) -> Iterator[Axis]:
    for statement in statements:
        inner = [each for each in ast.iter_child_nodes(statement) if isinstance(each, ast.stmt)]
        if isinstance(statement, ast.ClassDef):
            yield from _within(page, statement.body, statement)
        elif inner and not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):  # such as if TYPE_CHECKING
            yield from _within(page, inner, owner)
        else:
            for node in ast.walk(statement):
                for name, place in _names(page, node):
                    yield Axis(name, place, statement, owner)


def _names(page: Page, node: ast.AST) -> Iterator[tuple[str, types.Range]]:
    """The names in ``Float[Array2, "batch height-4"]``: of a string that stands in one line, as it is."""
    match node:
        case ast.Subscript(
            value=kind, slice=ast.Tuple(elts=[_, ast.Constant(value=str(), end_lineno=end) as text])
        ) if end == text.lineno and ast.unparse(kind).rpartition(".")[2] in DTYPE_WORDS:
            written = page.lines[text.lineno - 1].encode()[text.col_offset : text.end_col_offset].decode()
            literal = _STRING.fullmatch(written)
            for word in re.finditer(r"\S+", literal[2]) if literal is not None and literal[2] == text.value else ():
                parts = _WORD.fullmatch(word[0])
                if literal is None or parts is None or "_" in parts["marks"]:
                    continue
                size = _BRACES.sub(lambda braces: " " * len(braces[0]), parts["size"])
                for name in _NAME.finditer(size):
                    before = written[: literal.start(2) + word.start() + parts.start("size") + name.start()]
                    start = text.col_offset + len(before.encode())
                    ends = (page.position(text.lineno, each) for each in (start, start + len(name[0].encode())))
                    yield name[0], types.Range(*ends)
        case _:
            pass
