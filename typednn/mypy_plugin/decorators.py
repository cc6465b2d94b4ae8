"""Decorators that keep a function as it is: what they make of it takes its arguments and gives its result."""

import ast
from collections.abc import Iterable, Sequence

from typednn.mypy_plugin import changes
from typednn.mypy_plugin.syntax import last_name, walk


def keeping(statements: Iterable[ast.stmt]) -> frozenset[str]:
    """The functions of a module that are such decorators, ``logged``, or give one, ``repeated()``."""
    functions = [each for each in statements if isinstance(each, ast.FunctionDef)]
    decorators = {each.name for each in functions if _keeps(each)}
    return frozenset(decorators | {f"{each.name}()" for each in functions if _gives_one(each, decorators)})


def _keeps(decorator: ast.FunctionDef) -> bool:
    """Whether it gives the function itself, or one within that calls it."""
    match decorator.args:
        case ast.arguments(args=[ast.arg(arg=name)], vararg=None, kwonlyargs=[], kwarg=None):
            kept = {each.name for each in _within(decorator) if _calls(each, name)} | {name}
            return _returns(decorator.body, kept)
        case _:
            return False


def _gives_one(function: ast.FunctionDef, decorators: set[str]) -> bool:
    return _returns(function.body, decorators | {each.name for each in _within(function) if _keeps(each)})


def _within(function: ast.FunctionDef) -> list[ast.FunctionDef]:
    return [each for each in function.body if isinstance(each, ast.FunctionDef)]


def _returns(body: Sequence[ast.stmt], kept: set[str]) -> bool:
    """Whether a body ends by giving one of some names, which it does not assign, and gives nothing before."""
    match body:
        case [*before, ast.Return(value=ast.Name(id=name))] if name in kept:
            plain = [each for each in before if not isinstance(each, ast.FunctionDef)]
            leaves = any(isinstance(each, ast.Return) for one in plain for each in walk(one))
            return not leaves and not kept.intersection(changes.changed(plain))
        case _:
            return False


def _calls(inner: ast.FunctionDef, name: str) -> bool:
    """``def inner(*args, **kwargs)`` that returns only what ``name(*args, **kwargs)`` gives."""
    match inner.args:
        case ast.arguments(args=[], kwonlyargs=[], vararg=ast.arg(arg=star), kwarg=ast.arg(arg=stars)):
            pass
        case _:
            return False

    def result(node: ast.expr | None) -> bool:
        match node:
            case ast.Await(value=called):
                return result(called)
            case ast.Call(
                func=ast.Name(id=function),
                args=[ast.Starred(value=ast.Name(id=one))],
                keywords=[ast.keyword(arg=None, value=ast.Name(id=several))],
            ):
                return (function, one, several) == (name, star, stars)
            case _:
                return False

    walked = walk(inner)
    assigned = list(changes.changed(inner.body))
    results = {
        each.targets[0].id
        for each in walked
        if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and result(each.value)
    }
    once = {each for each in results if assigned.count(each) == 1}
    returned = [each.value for each in walked if isinstance(each, ast.Return)]
    return (
        all(last_name(each) == "wraps" for each in inner.decorator_list)
        and bool(returned)
        and all(result(each) or (isinstance(each, ast.Name) and each.id in once) for each in returned)
        and not {name, star, stars}.intersection(assigned)
        and not any(isinstance(each, ast.Yield | ast.YieldFrom) for each in walked)
    )
