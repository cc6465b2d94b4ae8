"""Whether a test exercises typednn: follows what it uses, through the functions, tables, fixtures and helpers of the
tests.

A name leads to typednn if it is imported from ``typednn``, ``examples`` or ``benchmarks``, or if a text in the code
speaks of typednn, such as a command or a program that is run. Docstrings and annotations lead nowhere: a test is what
it computes.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

_PRODUCT = ("typednn", "examples", "benchmarks")
_SPOKEN = re.compile(r"\btypednn\b|^(?:examples|benchmarks)\.")

Place: TypeAlias = tuple[str, str]  # a file and a name in it
Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class _File:
    """What one file of the tests defines and imports, by name."""

    def __init__(self, source: str) -> None:
        self._source = source

    @cached_property
    def _tree(self) -> ast.Module:
        return ast.parse(self._source)

    @cached_property
    def definitions(self) -> dict[str, list[ast.AST]]:
        """Functions and classes of any depth; statements of the file that assign a name."""
        found: dict[str, list[ast.AST]] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, Definition):
                found.setdefault(node.name, []).append(node)
        for statement in self._tree.body:
            if not isinstance(statement, (ast.Import, ast.ImportFrom, Definition)):
                for node in ast.walk(statement):
                    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                        found.setdefault(node.id, []).append(statement)
        return found

    @cached_property
    def imports(self) -> dict[str, tuple[str, str]]:
        """The name here -> the module, and the name there, "" for the module itself."""
        found: dict[str, tuple[str, str]] = {}
        for node in ast.walk(self._tree):
            if isinstance(node, ast.Import):
                for each in node.names:
                    found[each.asname or each.name.partition(".")[0]] = each.name, ""
            elif isinstance(node, ast.ImportFrom):
                for each in node.names:
                    found[each.asname or each.name] = node.module or "", each.name
        return found


def _within(node: ast.AST) -> Iterator[ast.AST]:
    """``node`` and what it holds, without annotations and docstrings."""
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST) and not (
                isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
            ):
                yield from _within(child)


class Uses:
    """The files of the tests, by their path."""

    def __init__(self, sources: Mapping[str, str]) -> None:
        self._files = {path: _File(source) for path, source in sources.items()}
        self._steps: dict[Place, tuple[bool, frozenset[Place]]] = {}

    def exercise(self, path: str, name: str) -> bool:
        """Whether what the file ``path`` calls ``name`` uses something of typednn."""
        seen, waiting = {(path, name)}, [(path, name)]
        while waiting:
            leads, further = self._step(waiting.pop())
            if leads:
                return True
            waiting += further - seen
            seen |= further
        return False

    def _step(self, place: Place) -> tuple[bool, frozenset[Place]]:
        """Whether the name leads to typednn at once, and the names that it uses."""
        if place not in self._steps:
            path, name = place
            file = self._files[path]
            if name in file.definitions:
                uses = [use for node in file.definitions[name] for use in self._uses(path, node)]
                self._steps[place] = True in uses, frozenset(use for use in uses if use is not True)
            elif name in file.imports:
                self._steps[place] = self._imported(path, *file.imports[name])
            else:
                self._steps[place] = False, self._fixture(path, name)
        return self._steps[place]

    def _imported(self, path: str, module: str, name: str) -> tuple[bool, frozenset[Place]]:
        if module.partition(".")[0] in _PRODUCT:
            return True, frozenset()
        homes = f"{module.replace('.', '/')}.py", f"{path.rpartition('/')[0]}/{module}.py"
        return False, frozenset((home, name) for home in homes if home in self._files)

    def _fixture(self, path: str, name: str) -> frozenset[Place]:
        """What a name stands for that the file neither defines nor imports: the nearest fixture of that name."""
        folder = path
        while folder:
            folder = folder.rpartition("/")[0]
            around = f"{folder}/conftest.py"
            if around != path and around in self._files and name in self._files[around].definitions:
                return frozenset({(around, name)})
        return frozenset()

    def _uses(self, path: str, node: ast.AST) -> Iterator[Place | Literal[True]]:
        file = self._files[path]
        for each in _within(node):
            if isinstance(each, ast.Name) or (isinstance(each, ast.arg) and each.arg not in ("self", "cls")):
                yield path, each.id if isinstance(each, ast.Name) else each.arg
            elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
                if each.value.id in ("self", "cls"):
                    yield path, each.attr
                elif each.value.id in file.imports:  # a name of a module
                    yield from self._imported(path, ".".join(filter(None, file.imports[each.value.id])), each.attr)[1]
            elif isinstance(each, ast.Constant) and isinstance(each.value, str):
                if _SPOKEN.search(each.value):
                    yield True
                elif each.value.isidentifier():  # as in usefixtures("name")
                    yield from self._fixture(path, each.value)
