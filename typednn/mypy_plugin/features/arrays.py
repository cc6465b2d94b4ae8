"""The sizes that operators, methods and attributes of arrays, and NumPy's functions, give."""

import operator
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from typednn.mypy_plugin.context import Analysis, Call
from typednn.mypy_plugin.sizes import array, why
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Number, Pack, Value, integer_of, known, written_shape
from typednn.shapes import Dim, Shape, differ, same

_SAME_SHAPE = (
    "exp", "log", "tanh", "sqrt", "abs", "absolute", "sign", "square", "negative", "maximum", "minimum", "clip", "asarray",
    "ascontiguousarray", "zeros_like", "ones_like", "empty_like", "copy",
)  # fmt: skip


def _shape(call: Call, value: Value) -> list[Dim | None] | None:
    return known(value.flow.shape, call.context.names) if isinstance(value, Array) else None


# ------------------------------------------------------------------ operators


def broadcast(call: Call) -> Value:
    """``a + b``, and all other operators that broadcast."""
    left, right = call.arguments
    a, b = _shape(call, left), _shape(call, right)
    if a is None or b is None:
        return UNKNOWN
    rank = max(len(a), len(b))
    ones: list[Dim | None] = [Dim.of(1)] * rank
    result: list[Dim | None] = []
    for place, (x, y) in enumerate(zip(ones[len(a) :] + a, ones[len(b) :] + b, strict=True)):
        if x is not None and y is not None and (x.value == 1 or y.value == 1 or same(x, y)):
            result.append(y if x.value == 1 else x)
        elif x is None or y is None or x.value is None or y.value is None:
            result.append(None)
        else:
            source = why(right, place) or why(left, place)
            return call.complain(f"{_written(left)} and {_written(right)} do not fit together: axis {place} is {x} and {y}{source}")
    return array(call.context, result)


def product(call: Call) -> Value:
    """``a @ b``."""
    left, right = call.arguments
    a, b = _shape(call, left), _shape(call, right)
    if a is None or b is None or len(b) != 2 or len(a) < 2:
        return UNKNOWN
    inner, outer = a[-1], b[0]
    if inner is not None and outer is not None and differ(inner, outer):
        return call.complain(f"{_written(left)} @ {_written(right)}: {inner} columns meet {outer} rows")
    return array(call.context, [*a[:-1], b[1]])


def same_shape(call: Call) -> Value:
    """The shape of the one array among the operands or the arguments, where the others are numbers; its precision may change."""
    arrays = [each for each in call.arguments if isinstance(each, Array)]
    plain = all(isinstance(each, Array | Number | Constant) for each in call.arguments) and not call.keywords.keys() - {"dtype", "order"}
    return replace(arrays[0], kind="") if len(arrays) == 1 and plain else UNKNOWN


# ------------------------------------------------------------------ methods, attributes, functions


def of_array(call: Call) -> Value:
    """``x.shape``, ``x.reshape(…)``, ``x.sum(…)`` and others that do not change ``x``."""
    x: Array = call.receiver
    shape, values = _shape(call, x), call.arguments
    if shape is None:
        return UNKNOWN
    match call.name.removeprefix("Array."), call.keywords:
        case "shape", _:
            return Pack(tuple(UNKNOWN if size is None else Number(size) for size in shape), frozen=True)
        case "ndim", _:
            return Number(Dim.of(len(shape)))
        case "copy()", _:
            return x
        case "astype()", _:
            return replace(x, kind="")
        case (("sum()" | "mean()" | "max()" | "min()"), _) if len(values) < 2:
            return _reduced(call, shape)
        case _, {**keywords} if keywords:
            return UNKNOWN
        case (("clip()" | "round()"), _):
            return x
        case "reshape()", _:
            return _reshaped(call, shape, values[0].items if len(values) == 1 and isinstance(values[0], Pack) else values)
        case _:  # T, transpose
            order = [integer_of(each) for each in values] or list(range(len(shape)))[::-1]
            return array(call.context, [shape[each or 0] for each in order], x.kind) if set(order) == set(range(len(shape))) else UNKNOWN


def _reduced(call: Call, shape: list[Dim | None]) -> Value:
    place, keeps = integer_of(call.argument(0, "axis")), call.keywords.get("keepdims", Constant(False))
    if (
        place is None
        or not -len(shape) <= place < len(shape)
        or call.keywords.keys() - {"axis", "keepdims"}
        or not isinstance(keeps, Constant)
    ):
        return UNKNOWN
    place %= len(shape)
    return array(call.context, [*shape[:place], *([Dim.of(1)] if keeps.value else []), *shape[place + 1 :]])


def _reshaped(call: Call, shape: Shape, new_shape: Sequence[Value]) -> Value:
    sizes = [each.size if isinstance(each, Number) else None for each in new_shape]
    open_places = [place for place, size in enumerate(sizes) if size is not None and size.value == -1]
    if len(open_places) == 1:
        total = _total(shape)
        rest = _total([size for place, size in enumerate(sizes) if place != open_places[0]])
        share = total // rest if total is not None and rest is not None and rest.terms else None
        sizes[open_places[0]] = share if share is not None and rest is not None and share * rest == total else None
    return array(call.context, sizes)


def new_array(call: Call) -> Value:
    """A new array: ``np.zeros((32, 784))``."""
    shape = call.argument(0, "shape", call.keywords.get("size", UNKNOWN))
    items = shape.items if isinstance(shape, Pack) else (shape,) if isinstance(shape, Number) else None
    return UNKNOWN if items is None else array(call.context, [each.size if isinstance(each, Number) else None for each in items])


def revealed(call: Call) -> Value:
    """``reveal_type(x)``; see `reveals` for what is printed."""
    return call.argument(0, "")


def _written(value: Value) -> str:
    return f"({written_shape(value.flow.shape, ', ')})" if isinstance(value, Array) else "_"


def _total(shape: Shape) -> Dim | None:
    sizes = [size for size in shape if size is not None]
    return reduce(operator.mul, sizes, Dim.of(1)) if len(sizes) == len(shape) else None


_METHODS = ("reshape", "transpose", "sum", "mean", "max", "min", "copy", "clip", "round", "astype")
_MADE = ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full")
_DRAWN = tuple(f"numpy.random.{owner}.{name}()" for owner in ("_generator.Generator",) for name in ("standard_normal", "random"))

TABLE: dict[str, Analysis] = {
    "Array @ Array": product,
    "Array + Array": broadcast,
    **dict.fromkeys(("Array + Number", "Array + Constant", "Number + Array", "Constant + Array"), same_shape),
    **dict.fromkeys((f"Array.{name}" for name in ("shape", "ndim", "T")), of_array),
    **dict.fromkeys((f"Array.{name}()" for name in _METHODS), of_array),
    **dict.fromkeys((f"numpy.{name}" for name in _SAME_SHAPE), same_shape),
    **dict.fromkeys((*_MADE, *_DRAWN), new_array),
    **dict.fromkeys(("builtins.reveal_type", "typing.reveal_type", "typing_extensions.reveal_type"), revealed),
}
