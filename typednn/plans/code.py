"""Whether the code of a user's ``forward`` and ``backward`` does the same each time.

A plan makes the calls of ops again, and not the lines around them. So these lines may decide by sizes and settings, but
not by the numbers in arrays; they may call layers, ops and functions of typednn, and change nothing but what layers
keep. `unplannable` reads the source, and names the first line that is anything else. Arithmetic of NumPy needs no look
here: its results are arrays that no op computed (`typednn.plans.recording`).
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
import textwrap
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any, Final, cast, final

import numpy as np

from typednn.module.fields import KeptField, StoredField
from typednn.module.module import Module

_BUILTINS: Final = {"len", "zip", "enumerate", "reversed", "range", "tuple", "list", "isinstance", "super", "int"}
# Methods of layers, of arrays where they give views, and of lists and dicts that are made here.
_METHODS: Final = {"forward", "backward", "reshape", "transpose", "swapaxes", "squeeze", "items", "values", "keys"}
_OF_NUMPY: Final = {"reshape", "transpose", "swapaxes", "moveaxis", "squeeze", "expand_dims"}
_SIZES: Final = {"shape", "ndim", "size", "dtype", "training"}
_STATEMENTS: Final = (
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Return,
    ast.Expr,
    ast.If,
    ast.For,
    ast.Pass,
    ast.Raise,
)
_EXPRESSIONS: Final = (
    *(ast.Call, ast.Attribute, ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Subscript, ast.Slice),
    *(ast.Starred, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.NamedExpr, ast.JoinedStr),
    *(ast.FormattedValue, ast.ListComp, ast.GeneratorExp, ast.DictComp),
)


def is_ours(kind: Any) -> bool:
    """Whether a class or a function is typednn's."""
    return str(getattr(kind, "__module__", "")).startswith("typednn.") or hasattr(kind, "op")


def unplannable(part: Module) -> str:
    """Why a plan might leave out something that ``part`` does, with the file and line; empty where it does not. Parts
    of it are read by themselves.
    """
    if part.foreign:
        return f"{part.label()} derives from no class of typednn: what it computes is not known"
    for name in ("forward", "backward"):
        if why := _Method(part, getattr(type(part), name, None), set()).why():
            return why
    return ""


@final
class _Method:
    """A method of ``owner``, or a function, and those that it calls."""

    def __init__(self, owner: Any, function: Any, seen: set[Any]) -> None:
        self.owner: Any = owner
        self.function: Any = inspect.unwrap(function) if callable(function) else None
        self.seen: set[Any] = seen
        self.lists: set[str] = set()  # names of lists that it makes
        self.sizes: set[str] = set()  # names of numbers that follow sizes and settings alone

    def why(self) -> str:
        """The first line that may not be left out; empty where there is none."""
        function = self.function
        if function is None or is_ours(function) or function in self.seen:
            return ""
        self.seen.add(function)
        if not isinstance(function, FunctionType):
            return f"{function!r} has no source that can be read"
        try:
            lines, first = inspect.getsourcelines(function)
            tree = ast.parse(textwrap.dedent("".join(lines))).body[0]
        except (OSError, TypeError, SyntaxError, IndexError):
            return f"{function.__qualname__} has no source that can be read"
        if not isinstance(tree, ast.FunctionDef) or tree.name != function.__name__:  # a lambda, or a file that changed
            place = f"{function.__code__.co_filename}:{first}"
            return f"{function.__qualname__} is no def that can be read, at {place}"
        ast.increment_lineno(tree, first - 1)
        self.own: str = tree.args.args[0].arg if self.owner is not None and tree.args.args else ""
        for problem, node in self._statements(tree.body):
            if node is None:  # of a function that it calls
                return problem
            return f"{function.__qualname__} {problem}, at {function.__code__.co_filename}:{node.lineno}"
        return ""

    # ------------------------------------------------------------------ statements

    def _statements(self, body: list[ast.stmt]) -> Iterator[tuple[str, Any]]:
        for node in body:
            if not isinstance(node, _STATEMENTS):
                yield f"has a statement that plans don't know ({type(node).__name__})", node
                return
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.expr) and not (isinstance(node, ast.AnnAssign) and child is node.annotation):
                    yield from self._expression(child)
            match node:
                case ast.Assign(targets=targets, value=value):
                    for target in targets:
                        yield from self._assigned(target, value)
                case ast.AnnAssign(target=target, value=value) if value is not None:
                    yield from self._assigned(target, value)
                case ast.AugAssign(target=target, value=value):
                    yield from self._written(target, self._is_size(target) and self._is_size(value))
                case ast.If(test=test, body=then, orelse=other):
                    yield from self._decided(test)
                    yield from self._statements([*then, *other])
                case ast.For(target=target, iter=over, body=then, orelse=other):
                    for _ in range(2):  # a turn sees what the one before has assigned
                        yield from self._iterated(target, over)
                        yield from self._statements([*then, *other])
                case _:
                    pass

    def _assigned(self, target: ast.expr, value: ast.expr) -> Iterator[tuple[str, Any]]:
        if isinstance(target, ast.Name):
            makes = isinstance(value, ast.List | ast.ListComp)
            (self.lists.add if makes else self.lists.discard)(target.id)
        yield from self._written(target, self._is_size(value))

    def _iterated(self, target: ast.expr, over: ast.expr) -> Iterator[tuple[str, Any]]:
        match target, over:
            case ast.Tuple(elts=[number, each]), ast.Call(func=ast.Name(id="enumerate"), args=[rows]):
                yield from self._written(number, is_size=True)
                yield from self._written(each, self._is_size(rows))
            case _:
                yield from self._written(target, self._is_size(over))

    def _written(self, target: ast.expr, is_size: bool) -> Iterator[tuple[str, Any]]:
        match target:
            case ast.Name(id=name):
                (self.sizes.add if is_size else self.sizes.discard)(name)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part in parts:
                    yield from self._written(part, is_size)
            case ast.Starred(value=value):
                yield from self._written(value, is_size)
            case ast.Attribute(value=ast.Name(id=name)) if name == self.own:
                pass  # a field that is kept; of another the model notices that it changed
            case _:
                yield "writes into what is not its own", target

    # ------------------------------------------------------------------ expressions

    def _expression(self, whole: ast.expr) -> Iterator[tuple[str, Any]]:
        for node in ast.walk(whole):
            if isinstance(node, ast.expr) and not isinstance(node, _EXPRESSIONS):
                yield f"has an expression that plans don't know ({type(node).__name__})", node
            match node:
                case ast.Call():
                    yield from self._called(node)
                case ast.IfExp(test=test):
                    yield from self._decided(test)
                case ast.BoolOp(values=values):
                    for value in values[:-1]:
                        yield from self._decided(value)
                case ast.comprehension(target=target, iter=over, ifs=tests):
                    yield from self._iterated(target, over)
                    for test in tests:
                        yield from self._decided(test)
                case _:
                    pass

    def _decided(self, test: ast.expr) -> Iterator[tuple[str, Any]]:
        if not self._is_size(test):
            yield "decides by a value that may be another each time", test

    def _is_size(self, node: ast.AST) -> bool:
        """Whether it follows sizes and settings alone."""
        match node:
            case ast.Constant():
                return True
            case ast.Name(id=name):
                return name in self.sizes or name == self.own
            case ast.Attribute(attr=attribute, value=value):
                return attribute in _SIZES or (self._is_size(value) and self._is_setting(value, attribute))
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return True
            case ast.Call(func=ast.Name(id="len" | "isinstance")):
                return True
            case ast.Call(func=ast.Name(id="range" | "int" | "tuple"), args=arguments):
                return all(map(self._is_size, arguments))
            case (
                ast.Compare() | ast.BinOp() | ast.BoolOp() | ast.UnaryOp() | ast.Subscript() | ast.Tuple() | ast.Slice()
            ):
                return all(self._is_size(each) for each in ast.iter_child_nodes(node) if isinstance(each, ast.expr))
            case _:
                return False

    def _is_setting(self, node: ast.expr, attribute: str) -> bool:
        """Whether an attribute is none of the arrays that layers hold and keep."""
        has: Any = self._found(node)[1]
        held = inspect.getattr_static(has.__class__, attribute, None), inspect.getattr_static(has, attribute, None)
        return not any(isinstance(each, StoredField | KeptField | np.ndarray) for each in held)

    def _called(self, node: ast.Call) -> Iterator[tuple[str, Any]]:
        name: str
        found: Any
        name, found = self._found(node.func)
        method = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if is_ours(found) or _is_made(found):
            return
        if inspect.isfunction(found) or inspect.ismethod(found):
            has: Any = getattr(found, "__self__", None)
            if isinstance(has, Module) and has is not self.owner and method in ("forward", "backward"):
                return  # a part of the model, which is read by itself
            if not _is_of_library(found):
                if inner := _Method(has, getattr(found, "__func__", found), self.seen).why():
                    yield inner, None
                return
        known = getattr(found, "__module__", "") == "numpy" and method in _OF_NUMPY
        is_builtin = found is not None and found is getattr(builtins, name, None) and name in _BUILTINS
        if not known and not is_builtin and not (found is None and (method in _METHODS or self._appends(node.func))):
            yield f"calls {name}, of which it is not known what it does", node

    def _appends(self, called: ast.expr) -> bool:
        """To a list that is made in this call."""
        return (
            isinstance(called, ast.Attribute)
            and called.attr == "append"
            and isinstance(called.value, ast.Name)
            and called.value.id in self.lists
        )

    def _found(self, node: ast.expr) -> tuple[str, Any]:
        """A name, and what it stands for, where that is known before the call; else None."""
        match node:
            case ast.Name(id=name):
                if name == self.own:
                    return name, self.owner
                scope = inspect.getclosurevars(self.function)
                return name, {**scope.builtins, **scope.globals, **scope.nonlocals}.get(name)
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super"), args=[]), attr=attribute):
                above: Any = inspect.getclosurevars(self.function).nonlocals.get("__class__")
                inherited = cast("object", None if above is None else super(above, self.owner))
                return f"super().{attribute}", getattr(inherited, attribute, None)
            case ast.Attribute(value=value, attr=attribute):
                name, has = self._found(value)
                inner: Any = None
                if isinstance(has, Module | ModuleType | type):
                    inner = inspect.getattr_static(has, attribute, None)
                    if not isinstance(inner, property | StoredField | KeptField):
                        inner = getattr(has, attribute, None)
                return f"{name}.{attribute}", inner
            case _:
                return ast.unparse(node), None


def _is_made(found: Any) -> bool:
    """Whether a call makes a gradient, or another dataclass, or an error."""
    return inspect.isclass(found) and (dataclasses.is_dataclass(found) or issubclass(found, BaseException))


def _is_of_library(function: Any) -> bool:
    """Whether it is of an installed package: no code of the user's."""
    return "site-packages" in getattr(getattr(function, "__code__", None), "co_filename", "site-packages")
