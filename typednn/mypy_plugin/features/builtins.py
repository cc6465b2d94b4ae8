"""Python's own functions, ``len``, ``range``, ``zip``, …, and operators of integers, tuples and lists. They report no
errors.
"""

import ast
import re
from dataclasses import replace
from functools import reduce
from itertools import pairwise

from typednn.mypy_plugin import classes
from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.features.arrays import computed
from typednn.mypy_plugin.python import UNROLLED, dictionary, element, elements, truth
from typednn.mypy_plugin.sizes import class_of
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    Layer,
    Many,
    Number,
    Pack,
    Partial,
    Reference,
    Value,
    integer_of,
    number,
)
from typednn.shapes import Dim, operation

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
        case "len", _ if isinstance(call.arguments[0], Array) and call.arguments[0].flow.shape:
            size = call.arguments[0].flow.shape[0]
            return UNKNOWN if size is None else Number(size)
        case "len", [Pack(items=items)]:
            return number(len(items))
        case (("tuple" | "list" | "reversed"), [Pack(items=items)]):
            return Pack(items[::-1] if name == "reversed" else items, frozen=name != "list")
        case (("tuple" | "list"), []) if not call.spread:
            return Pack((), frozen=name != "list")
        case (("tuple" | "list" | "reversed" | "iter"), [Many(item=each)]):
            return Many(each, frozen=name != "list")
        case "next", [Many(item=each)]:
            return each
        case (("asyncio.create_task" | "asyncio.run"), _):
            return call.arguments[0]  # a coroutine stands for its result
        case "asyncio.gather", _ if not call.keywords:
            return Pack(tuple(call.arguments), frozen=True)
        case "enumerate", [Pack(items=items)]:
            return Pack(
                tuple(Pack((number(place), each), frozen=True) for place, each in enumerate(items)), frozen=True
            )
        case "enumerate", [Many(item=each)]:
            return Many(Pack((UNKNOWN, each), frozen=True), frozen=True)
        case "zip", [_, *_] as zipped if all(isinstance(each, Pack) for each in zipped):
            columns = [each.items for each in zipped if isinstance(each, Pack)]
            return Pack(tuple(Pack(row, frozen=True) for row in zip(*columns, strict=False)), frozen=True)
        case "zip", [_, *_] as zipped if all(isinstance(each, Pack | Many) for each in zipped):
            return Many(Pack(tuple(map(element, zipped)), frozen=True), frozen=True)
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
        case "itertools.pairwise", [Pack(items=items)]:
            return Pack(tuple(Pack(pair, frozen=True) for pair in pairwise(items)), frozen=True)
        case "itertools.chain", parts if all(isinstance(each, Pack) for each in parts):
            return Pack(tuple(item for each in parts if isinstance(each, Pack) for item in each.items), frozen=True)
        case "sorted", [Pack(items=items)] if all(integer_of(each) is not None for each in items):
            return Pack(tuple(sorted(items, key=lambda each: integer_of(each) or 0)))
        case (("sum" | "math.prod"), [Pack(items=items)]) if all(isinstance(each, Number) for each in items):
            sizes = [each.size for each in items if isinstance(each, Number)]
            start = Dim.of(0 if name == "sum" else 1)
            return Number(reduce(lambda a, b: a + b if name == "sum" else a * b, sizes, start))
        case (("all" | "any"), [Pack(items=items)]) if None not in (truths := list(map(truth, items))):
            return Constant((all if name == "all" else any)(truths))
        case "abs", _ if len(call.arguments) == 1 and isinstance(call.arguments[0], Array):
            return computed(call, "abs", call.arguments)
        case "abs", [Number()] if numbers[0] is not None:
            return number(abs(numbers[0]))
        case "divmod", [Number() as a, Number() as b] if b.size.terms:
            return Pack((Number(a.size // b.size), Number(a.size - b.size * (a.size // b.size))), frozen=True)
        case "dict", [Pack() as pairs]:
            return dictionary(pairs)
        case _:
            return UNKNOWN


def named(call: Call) -> Value:
    """``dict(hidden=128)``, ``replace(config, hidden=128)``, ``config._replace(hidden=128)``."""
    if call.spread:
        return UNKNOWN
    match call.name, call.arguments, call.receiver:
        case "builtins.dict", [], _:
            return Pack(tuple(call.keywords.values()), keys=tuple(map(repr, call.keywords)))
        case (("dataclasses.replace" | "copy.replace"), [Layer() as given], _):
            info = class_of(call.context, given)
            own = {name for name, _ in classes.record(info)} if info is not None else set[str]()
            kept = {name: value for name, value in given.attributes.items() if name in own}
            made = call.context.apply(Reference(info), replace(call, arguments=(), keywords={**kept, **call.keywords}))
            return made if own else UNKNOWN
        case "Pack._replace()", [], Pack(fields=fields, items=items) if call.keywords.keys() <= set(fields):
            return replace(
                call.receiver,
                items=tuple(call.keywords.get(name, item) for name, item in zip(fields, items, strict=True)),
            )
        case "Pack._asdict()", [], Pack(fields=fields, items=items):
            return Pack(items, keys=tuple(map(repr, fields)))
        case "builtins.dict", _, _:
            return builtin(call)
        case _:
            return UNKNOWN


def applied(call: Call) -> Value:
    """Functions that call another: ``partial``, ``reduce``, ``map``, ``filter``."""
    if call.spread or not call.arguments:
        return UNKNOWN
    function, *operands = call.arguments
    name, sequences = call.name.rpartition(".")[2], list(map(elements, operands))

    def result(*arguments: Value) -> Value:
        return call.context.apply(function, replace(call, arguments=arguments, keywords={}, receiver=UNKNOWN))

    match name, sequences:
        case "partial", _:
            return Partial(function, tuple(operands), tuple(call.keywords.items()))
        case "reduce", [Pack(items=items), *start] if len(items) <= UNROLLED and (items or start):
            return reduce(result, [*start, *items])
        case "map", [_, *_] if all(isinstance(each, Pack) for each in sequences):
            columns = [each.items for each in sequences if isinstance(each, Pack)]
            return Pack(tuple(result(*row) for row in zip(*columns, strict=False)), frozen=True)
        case "map", [_, *_]:
            return Many(result(*map(element, sequences)))
        case _:
            return UNKNOWN


def operated(call: Call) -> Value:
    """``operator.rshift(a, b)``: as ``a >> b``."""
    return (
        call.context.operated(_OPERATORS[call.name.rpartition(".")[2]](), call) if len(call.arguments) == 2 else UNKNOWN
    )


def attribute(call: Call) -> Value:
    """``getattr(object, "name")``."""
    match call.arguments:
        case [_, Constant(value=str() as name), *_] if isinstance(call.node, ast.Call) and name.isidentifier():
            return call.context.evaluate(ast.Attribute(value=call.node.args[0], attr=name, ctx=ast.Load()), call.env)
        case _:
            return UNKNOWN


_OPERATORS: dict[str, type[ast.operator]] = {
    "rshift": ast.RShift, "add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "floordiv": ast.FloorDiv,
    "matmul": ast.MatMult, "mod": ast.Mod,
}  # fmt: skip


def _is_instance(value: Value, kinds: str) -> Value:
    """Decided only for Python's own int, tuple and list, named as such."""
    words = set(re.findall(r"\w+", kinds))
    match value:
        case Number():
            own, plain = "int", words <= {"int", "tuple", "list", "str", "dict"}
        case Array(flow=flow) if flow.shape:  # or None
            own, plain = "ndarray", words <= {"int", "float", "tuple", "list", "str", "dict"}
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
            return (
                UNKNOWN
                if size is None or len(size.terms) > _LONGEST
                else Number(size, left.positive and right.positive)
            )
        case [Pack(items=items, keys=()) as left, Number() as right], ast.BinOp(op=ast.Mult()) if (
            integer_of(right) or UNROLLED
        ) < UNROLLED:
            return Pack(items * (integer_of(right) or 0), frozen=left.frozen)
        case [Pack(keys=()) as left, Pack(keys=()) as right], ast.BinOp(op=ast.Add()):
            return Pack(left.items + right.items, frozen=left.frozen and right.frozen)
        case _:
            return UNKNOWN


_NAMES = (
    *(
        "int",
        "len",
        "tuple",
        "list",
        "reversed",
        "iter",
        "next",
        "enumerate",
        "zip",
        "range",
        "min",
        "max",
        "isinstance",
        "sorted",
        "sum",
        "all",
        "any",
    ),
    *("abs", "divmod"),
)
_OTHERS = (
    "copy.copy", "copy.deepcopy", "itertools.pairwise", "itertools.chain", "math.prod",
    "asyncio.gather", "asyncio.create_task", "asyncio.run",
)  # fmt: skip

TABLE: dict[str, Analysis] = {
    **dict.fromkeys((*(f"builtins.{name}" for name in _NAMES), *_OTHERS), builtin),
    **dict.fromkeys(
        ("builtins.dict", "dataclasses.replace", "copy.replace", "Pack._replace()", "Pack._asdict()"), named
    ),
    **dict.fromkeys(("functools.partial", "functools.reduce", "_functools.reduce", "builtins.map"), applied),
    **{f"{module}.{name}": operated for module in ("operator", "_operator") for name in _OPERATORS},
    "builtins.getattr": attribute,
    **dict.fromkeys(("Number + Number", "Pack + Number", "Pack + Pack"), binary),
}
