"""Python's own syntax on known values: conditions, items of a tuple, elements of a loop.

Nothing here reports errors: a result that is not decided is `UNKNOWN`.
"""

import ast
from functools import reduce

from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Layer, Many, Number, Pack, Value, integer_of, join, show

UNROLLED = 64  # elements that are evaluated one by one, at most


def unary(op: ast.unaryop, value: Value) -> Value:
    """``-n``, ``not n``; the negative of an array is as large as the array."""
    match op, value:
        case ast.USub(), Number():
            return Number(-value.size, value.positive)
        case ((ast.USub() | ast.UAdd()), Array()):
            return value
        case ast.Not(), _:
            decided = truth(value)
            return UNKNOWN if decided is None else Constant(not decided)
        case _:
            return UNKNOWN


def compared(op: ast.cmpop, a: Value, b: Value) -> Value:
    """``a < b`` of two integers, ``==`` of two constants, ``is None``."""
    match op:
        case ast.Is() | ast.IsNot() if b == Constant(None) and isinstance(a, Constant | Number | Pack):
            return Constant((a == b) == isinstance(op, ast.Is))
        case ast.Eq() | ast.NotEq() if isinstance(a, Constant) and isinstance(b, Constant):
            return Constant((a.value == b.value) == isinstance(op, ast.Eq))
        case _ if (first := integer_of(a)) is not None and (second := integer_of(b)) is not None:
            answers: dict[type[ast.cmpop], bool] = {
                ast.Eq: first == second, ast.NotEq: first != second, ast.Lt: first < second, ast.LtE: first <= second,
                ast.Gt: first > second, ast.GtE: first >= second,
            }  # fmt: skip
            return Constant(answers[type(op)]) if type(op) in answers else UNKNOWN
        case _:
            return UNKNOWN


def truth(value: Value) -> bool | None:
    """Whether a condition holds; None where it may or may not."""
    match value:
        case Constant(value=inner):
            return bool(inner)
        case Number() if value.size.value is not None:
            return bool(value.size.value)
        case Pack(items=items) if value.frozen:
            return bool(items)
        case _:
            return None


def item(base: Value, place: Value) -> Value:
    """``base[place]``: of a tuple, a list, a dict, a stack."""
    index = integer_of(place)
    match base:
        case Pack(items=items, keys=keys) if keys:
            return items[keys.index(show(place))] if show(place) in keys else UNKNOWN
        case Pack(items=items) | Layer(parts=tuple(items)) if index is not None and -len(items) <= index < len(items):
            return items[index]
        case Many(item=any_item) if isinstance(place, Number):
            return any_item
        case _:
            return UNKNOWN


def elements(value: Value) -> Value:
    """The values of an iteration; the keys of a dict are no sizes."""
    if isinstance(value, Pack) and value.keys:
        return Pack((UNKNOWN,) * len(value.items), frozen=True)
    return value


def element(value: Value) -> Value:
    """What is known of each of the elements."""
    if isinstance(value, Many):
        return value.item
    return reduce(join, value.items) if isinstance(value, Pack) and value.items else UNKNOWN


def transparent(manager: ast.expr) -> bool:
    """Whether a context manager surely lets exceptions pass, so that its body runs to the end."""
    called = manager.func if isinstance(manager, ast.Call) else manager
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in ("checking", "open", "nullcontext", "errstate", "catch_warnings", "closing", "redirect_stdout")
