"""What a module defines, kept in mypy's cache: its functions and methods as text, and what it assigns once.

mypy drops the bodies of modules that come from its cache, and checks no caller again where a body alone changed. So
each module of a project has one more name, which no program can write: a variable whose type is this text. mypy writes
it into its cache, and compares it in its daemon, as any other type; whoever follows a function depends on that name.
"""

import ast
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import PurePath
from typing import TypedDict, cast

from mypy import nodes
from mypy.types import UnboundType

from typednn.mypy_plugin import changes, syntax

NAME = "@typednn"  # mypy keeps names with @ where it analyses a module again
_LONGEST = 10_000  # characters of a constant
_OF_LAYERS = {"typednn", "torch", "jax", "equinox", "flax"}  # packages of layers
_LISTS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)


class Sources(TypedDict):
    """What one module defines."""

    functions: dict[str, tuple[str, list[int]]]  # by name, `make` or `Net.forward`: as text; the line of each statement
    constants: dict[str, str]  # names that are assigned once, as text
    assigned: list[str]  # the attributes that the module assigns on anything but self
    builds: bool  # whether the module imports layers, or what it builds them of


def keep(tree: nodes.MypyFile | None) -> None:
    """Put what a module defines into its names, while its statements are in memory."""
    if tree is not None and NAME not in tree.names and tree.defs and _of_project(tree):
        kept = nodes.Var(NAME, UnboundType(json.dumps(_read(tree))))
        kept._fullname = f"{tree.fullname}.{NAME}"  # pyright: ignore[reportPrivateUsage]
        tree.names[NAME] = nodes.SymbolTableNode(nodes.GDEF, kept, module_public=False, module_hidden=True)


def kept(tree: nodes.MypyFile | None) -> Sources | None:
    """What a module defines; None of one whose functions are not followed."""
    keep(tree)
    symbol = None if tree is None else tree.names.get(NAME)
    declared = symbol.node.type if symbol is not None and isinstance(symbol.node, nodes.Var) else None
    return _parsed(declared.name) if isinstance(declared, UnboundType) else None


def incomplete(tree: nodes.MypyFile | None) -> bool:
    """Whether mypy has dropped the statements of a module before anybody has read them."""
    unread = tree is not None and NAME not in tree.names and not tree.defs and _of_project(tree)
    return unread and tree is not None and any(not name.startswith("__") for name in tree.names)


def function(kept: Sources, name: str) -> ast.FunctionDef | None:
    """A function of another module, as Python's own node, with the lines of its file."""
    text, lines = kept["functions"].get(name, ("", []))
    try:
        made = cast("ast.FunctionDef", ast.parse(text).body[0]) if text else None
    except SyntaxError:  # a pattern that means nothing here
        return None
    for statement, line in zip(_statements(made) if made is not None else (), lines, strict=False):
        for node in syntax.walk(statement):
            node.lineno = line  # type: ignore[attr-defined]
    return made


def _of_project(tree: nodes.MypyFile) -> bool:
    """Whether a module is one of the user's own: no stub, not installed, not typednn."""
    installed = {"site-packages", "dist-packages"}.intersection(PurePath(tree.path).parts)
    return not (tree.is_stub or installed or tree.fullname.partition(".")[0] == "typednn")


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Sources:
    return cast("Sources", json.loads(text))


# ------------------------------------------------------------------ reading


def _read(tree: nodes.MypyFile) -> Sources:
    statements, body = tree.defs, syntax.block(tree.defs)
    times = Counter(changes.changed(body)) + Counter(_conditional(statements))
    rebound = changes.rebound(body, ast.Global)
    often = {name for name, count in times.items() if count > 1} | rebound
    handed_on = changes.handed_on(body)
    found = Counter(name for name, _ in _functions(statements))
    return {
        "functions": {
            name: _text(each) for name, each in _functions(statements) if found[name] == 1 and name not in often
        },
        "constants": {
            target.id: text
            for each in body
            if isinstance(each, ast.Assign)
            for target in each.targets
            if isinstance(target, ast.Name)
            and target.id not in often
            and not (isinstance(each.value, _LISTS) and target.id in handed_on)
            and len(text := ast.unparse(ast.fix_missing_locations(each.value))) < _LONGEST
        },
        "assigned": sorted(changes.assigned(body, others=True)),
        "builds": not _OF_LAYERS.isdisjoint(_imported(tree)),
    }


def _imported(tree: nodes.MypyFile) -> Iterator[str]:
    """The packages that a module imports from."""
    for each in tree.imports:
        names = [name for name, _ in each.ids] if isinstance(each, nodes.Import) else [getattr(each, "id", "")]
        yield from (name.partition(".")[0] for name in names)


def _functions(statements: Iterable[nodes.Statement], owner: str = "") -> Iterator[tuple[str, nodes.FuncDef]]:
    """The functions and methods of which no decorator makes something else; of a property the one that reads it."""
    for each in statements:
        if isinstance(each, nodes.ClassDef):
            yield from _functions(each.defs.body, f"{owner}{each.name}.")
        chosen = _chosen(each) if isinstance(each, nodes.OverloadedFuncDef) else each
        decorators = chosen.original_decorators if isinstance(chosen, nodes.Decorator) else []
        made = chosen.func if isinstance(chosen, nodes.Decorator) else chosen
        if isinstance(made, nodes.FuncDef) and syntax.keeps_signature(decorators):
            yield f"{owner}{made.name}", made


def _chosen(several: nodes.OverloadedFuncDef) -> nodes.Statement:
    first = several.items[0]
    decorators = first.original_decorators if isinstance(first, nodes.Decorator) else []
    read = any(syntax.last_name(syntax.expression(each)) == "property" for each in decorators)
    return first if read else several.impl or several.items[-1]


def _conditional(statements: Iterable[nodes.Statement]) -> Iterator[str]:
    """The functions that branches of a module define."""
    for statement in statements:
        if not isinstance(statement, nodes.ClassDef | nodes.FuncDef | nodes.Decorator | nodes.OverloadedFuncDef):
            inside = syntax.within(statement)
            yield from (name for name, _ in _functions(inside) if "." not in name)
            yield from _conditional(inside)


def _text(made: nodes.FuncDef) -> tuple[str, list[int]]:
    """A function as text, and the lines of its statements."""
    node = syntax.as_function(made)
    lines = [getattr(syntax.origin(each), "line", made.line) for each in _statements(node)]
    return ast.unparse(ast.fix_missing_locations(node)), lines


def _statements(node: ast.FunctionDef) -> list[ast.stmt]:
    return [each for each in syntax.walk(node) if isinstance(each, ast.stmt)]
