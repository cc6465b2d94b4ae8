"""The signature of a function as its library writes it, and the arguments of a call by the names in it."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from functools import lru_cache

from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value, number


def bound(
    parameters: str, also: Mapping[str, str], arguments: Sequence[Value], keywords: Mapping[str, Value]
) -> dict[str, Value] | None:
    """The arguments by the names of the parameters, with defaults; None where they are not those of the signature."""
    names, by_name, star, stars, defaults = _signature(parameters)
    keywords = {each if each in (*names, *by_name) else also.get(each, each): keywords[each] for each in keywords}
    values: dict[str, Value] = dict(zip(names, arguments, strict=False))
    further = arguments[len(names) :]
    if star:
        values[star] = Pack(tuple(further), frozen=True)
    elif further:
        return None
    if stars:
        further_names = [name for name in keywords if name not in (*names, *by_name)]
        values[stars] = Pack(tuple(keywords[name] for name in further_names), keys=tuple(further_names))
        keywords = {name: value for name, value in keywords.items() if name not in further_names}
    if not keywords.keys() <= {*names, *by_name} or keywords.keys() & values.keys():
        return None
    values |= keywords
    missing = {*names, *by_name} - values.keys()
    return {**defaults, **values} if missing <= defaults.keys() else None


def parameters_of(parameters: str) -> dict[str, Value]:
    """The names in a signature, in order, each with its default; `UNKNOWN` where it has none."""
    names, by_name, star, _, defaults = _signature(parameters)
    return dict.fromkeys([*names, *filter(None, [star]), *by_name], UNKNOWN) | defaults


@lru_cache(maxsize=1024)
def _signature(parameters: str) -> tuple[list[str], list[str], str, str, dict[str, Value]]:
    function = ast.parse(f"def f({parameters}): ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    given = function.args
    positional = [*given.posonlyargs, *given.args]
    last = positional[len(positional) - len(given.defaults) :]
    pairs = [*zip(last, given.defaults, strict=True), *zip(given.kwonlyargs, given.kw_defaults, strict=True)]
    defaults = {each.arg: _literal(value) for each, value in pairs if value is not None}
    return (
        [each.arg for each in positional],
        [each.arg for each in given.kwonlyargs],
        given.vararg.arg if given.vararg else "",
        given.kwarg.arg if given.kwarg else "",
        defaults,
    )


def _literal(node: ast.expr) -> Value:
    value = ast.literal_eval(node)
    if isinstance(node, ast.Tuple):
        return Pack(tuple(map(_literal, node.elts)), frozen=True)
    return number(value) if type(value) is int else Constant(value)
