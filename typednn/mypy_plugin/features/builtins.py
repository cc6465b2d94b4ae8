"""Python's own functions, ``len``, ``range``, ``zip``, …, and operators of integers, tuples and lists. They report no errors."""

import ast
import re

from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.python import UNROLLED, elements
from typednn.mypy_plugin.values import UNKNOWN, Constant, Layer, Many, Number, Pack, Value, integer_of, number
from typednn.shapes import operation

_LONGEST = 32  # terms of a polynomial; a longer one becomes unknown


def builtin(call: Call) -> Value:
    """The result of one of them."""
    if call.keywords.keys() - {"strict"}:
        return UNKNOWN
    name = call.name.removeprefix("builtins.")
    numbers = [integer_of(each) for each in call.arguments]
    match name, list(map(elements, call.arguments)):
        case "int", [Number() as value]:
            return value
        case "len", [Pack(items=items)]:
            return number(len(items))
        case (("tuple" | "list" | "reversed"), [Pack(items=items)]):
            return Pack(items[::-1] if name == "reversed" else items, frozen=name != "list")
        case (("tuple" | "list" | "reversed"), [Many() as value]):
            return value
        case "enumerate", [Pack(items=items)]:
            return Pack(tuple(Pack((number(place), each), frozen=True) for place, each in enumerate(items)), frozen=True)
        case "enumerate", [Many(item=each)]:
            return Many(Pack((UNKNOWN, each), frozen=True))
        case "zip", [_, *_] as zipped if all(isinstance(each, Pack) for each in zipped):
            columns = [each.items for each in zipped if isinstance(each, Pack)]
            return Pack(tuple(Pack(row, frozen=True) for row in zip(*columns, strict=False)), frozen=True)
        case "range", [_] | [_, _] if None not in numbers:
            counted = range(*(each or 0 for each in numbers))
            return Pack(tuple(map(number, counted)), frozen=True) if len(counted) <= UNROLLED else Many(UNKNOWN)
        case "range", _:
            return Many(UNKNOWN)
        case (("min" | "max"), [_, _, *_]) if None not in numbers:
            return number((min if name == "min" else max)(each or 0 for each in numbers))
        case (("copy.copy" | "copy.deepcopy"), [Layer() as value]):
            return value
        case "isinstance", [_, _] if isinstance(call.node, ast.Call):
            return _is_instance(call.arguments[0], ast.unparse(call.node.args[1]))
        case _:
            return UNKNOWN


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


def binary(call: Call) -> Value:
    """Arithmetic of integers, ``+`` and ``*`` of tuples and lists."""
    match call.arguments, call.node:
        case [Number() as left, Number() as right], ast.BinOp(op=op):
            if isinstance(op, ast.Pow) and not 0 <= (integer_of(right) or 0) < _LONGEST:
                return UNKNOWN
            size = operation(op, left.size, right.size)
            return UNKNOWN if size is None or len(size.terms) > _LONGEST else Number(size, left.positive and right.positive)
        case [Pack(items=items, keys=()) as left, Number() as right], ast.BinOp(op=ast.Mult()) if (
            integer_of(right) or UNROLLED
        ) < UNROLLED:
            return Pack(items * (integer_of(right) or 0), frozen=left.frozen)
        case [Pack(keys=()) as left, Pack(keys=()) as right], ast.BinOp(op=ast.Add()):
            return Pack(left.items + right.items, frozen=left.frozen and right.frozen)
        case _:
            return UNKNOWN


_NAMES = ("int", "len", "tuple", "list", "reversed", "enumerate", "zip", "range", "min", "max", "isinstance")

TABLE: dict[str, Analysis] = {
    **dict.fromkeys((*(f"builtins.{name}" for name in _NAMES), "copy.copy", "copy.deepcopy"), builtin),
    **dict.fromkeys(("Number + Number", "Pack + Number", "Pack + Pack"), binary),
}
