"""What Python's own operators and functions give for what is known: of integers, tuples, lists and dicts.

Nothing here asks where a value comes from, and nothing complains: what is not decided is `UNKNOWN`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence

from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Layer, Many, Number, Pack, Value, integer_of, join_all, number, show
from typednn.shapes import Dim, operation

UNROLLED = 64  # elements at most that are looked at one by one
_LONGEST = 32  # terms of a polynomial; what grows beyond is given up

# ------------------------------------------------------------------ operators


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


def binary(op: ast.operator, left: Value, right: Value) -> Value:
    """Arithmetic of integers, ``+`` and ``*`` of tuples and lists."""
    match left, right:
        case Number(), Number():
            if isinstance(op, ast.Pow) and not 0 <= (integer_of(right) or 0) < _LONGEST:
                return UNKNOWN
            size = operation(op, left.size, right.size)
            return UNKNOWN if size is None or len(size.terms) > _LONGEST else Number(size, left.positive and right.positive)
        case Pack(items=items, keys=()), Number() if (
            isinstance(op, ast.Mult) and (times := integer_of(right)) is not None and times < UNROLLED
        ):
            return Pack(items * times, frozen=left.frozen)
        case Pack(keys=()), Pack(keys=()) if isinstance(op, ast.Add):
            return Pack(left.items + right.items, frozen=left.frozen and right.frozen)
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
        case Pack(items=items) if index is not None and -len(items) <= index < len(items):
            return items[index]
        case Many(item=any_item) if isinstance(place, Number):
            return any_item
        case Layer() if base.parts is not None and index is not None and -len(base.parts) <= index < len(base.parts):
            return base.parts[index]
        case _:
            return UNKNOWN


def elements(value: Value) -> Value:
    """What iterating gives: of a dict its keys, which are no sizes."""
    if isinstance(value, Pack) and value.keys:
        return Pack((UNKNOWN,) * len(value.items), frozen=True)
    return value


def element(value: Value) -> Value:
    """What is known of each of the elements."""
    return join_all(value.items) if isinstance(value, Pack) else value.item if isinstance(value, Many) else UNKNOWN


# ------------------------------------------------------------------ functions


def function(called: str, arguments: Sequence[Value], keywords: Mapping[str, Value], node: ast.Call) -> Value | None:
    """What a function of Python gives, or one of those that check arguments; None for any other."""
    first = arguments[0] if arguments else UNKNOWN
    numbers = [integer_of(each) for each in arguments]
    name = called.removeprefix("builtins.")
    match name, arguments:
        case "typednn.arguments.integer", [_, _, value, *rest]:
            return _size(value, integer_of((rest or [keywords.get("least", number(1))])[0]))
        case "typednn.arguments.pair", [_, _, value, *rest]:
            least = integer_of((rest or [keywords.get("least", number(1))])[0])
            if isinstance(value, Number):
                return Pack((_size(value, least),) * 2, frozen=True)
            return Pack(tuple(_size(each, least) for each in value.items), frozen=True) if isinstance(value, Pack) else UNKNOWN
        case "typednn.arguments.choice" | "typednn.arguments.number", [_, _, value, *_]:
            return value
        case "reveal_type", [value]:
            return value
        case _ if keywords:
            return None
        case "int", [Number()]:
            return first
        case "len", [Pack(items=items)]:
            return number(len(items))
        case (("tuple" | "list" | "reversed"), [Pack() | Many()]):
            iterated = elements(first)
            if not isinstance(iterated, Pack):
                return iterated
            return Pack(iterated.items[::-1] if name == "reversed" else iterated.items, frozen=name != "list")
        case "enumerate", [Pack()] if isinstance(iterated := elements(first), Pack):
            return Pack(tuple(Pack((number(place), each), frozen=True) for place, each in enumerate(iterated.items)), frozen=True)
        case "enumerate", [Many(item=each)]:
            return Many(Pack((UNKNOWN, each), frozen=True))
        case "zip", [_, *_] if all(isinstance(each, Pack) and not each.keys for each in arguments):
            columns = [each.items for each in arguments if isinstance(each, Pack)]
            return Pack(tuple(Pack(row, frozen=True) for row in zip(*columns, strict=False)), frozen=True)
        case "range", [_] | [_, _] if None not in numbers:
            counted = range(*(each or 0 for each in numbers))
            return Pack(tuple(map(number, counted)), frozen=True) if len(counted) <= UNROLLED else Many(UNKNOWN)
        case "range", _:
            return Many(UNKNOWN)
        case (("min" | "max"), [_, _, *_]) if None not in numbers:
            return number((min if name == "min" else max)(each or 0 for each in numbers))
        case "isinstance", [_, _]:
            return _is_instance(first, ast.unparse(node.args[1]))
        case _:
            return None


def _size(value: Value, least: int | None) -> Value:
    """An integer that was found to be at least ``least``; one that is not makes the constructor fail, and is nobody's size."""
    if not isinstance(value, Number):
        return UNKNOWN
    if value.size.value is not None:
        return value if least is None or value.size.value >= least else UNKNOWN
    return Number(value.size, value.positive or (_multiple(value.size) and least is not None and least >= 1))


def _multiple(size: Dim) -> bool:
    """Whether ``size`` is one name, or a number of times one: then the name is positive where the size is."""
    match size.terms:
        case (((str(),), int() as times),):
            return times > 0
        case _:
            return False


def _is_instance(value: Value, kinds: str) -> Value:
    """Decided only for Python's own int, tuple and list, named as such."""
    words = set(re.findall(r"\w+", kinds))
    match value:
        case Number():
            own, plain = "int", words <= {"int", "tuple", "list", "str", "dict"}
        case Pack(keys=()):
            own, plain = "tuple" if value.frozen else "list", words <= {"int", "tuple", "list", "str", "float"}
        case _:
            return UNKNOWN
    return Constant(own in words) if plain else UNKNOWN


def transparent(manager: ast.expr) -> bool:
    """Whether a context manager surely lets exceptions pass, so that its body runs to the end."""
    called = manager.func if isinstance(manager, ast.Call) else manager
    name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
    return name in ("checking", "open", "nullcontext", "errstate", "catch_warnings", "closing", "redirect_stdout")
