"""What operators, methods and functions do to the sizes of arrays, as NumPy's own do."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from typednn.errors import TypednnError
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Number, Pack, Value, integer_of, known
from typednn.shapes import Dim, Flow, Lookup, Mismatch, Shape, differ, evaluate, parse, same

if TYPE_CHECKING:
    from typednn.mypy_plugin.evaluator import Evaluator

# jaxtyping's words for single precisions: two of one family that differ never fit. Kinds of numbers are mypy's affair.
_PRECISIONS = (
    {"Float16", "Float32", "Float64", "BFloat16"},
    {"Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64"},
)
_SAME_SHAPE = (
    "exp", "log", "tanh", "sqrt", "abs", "absolute", "sign", "square", "negative", "maximum", "minimum", "clip", "asarray",
    "ascontiguousarray", "zeros_like", "ones_like", "empty_like", "copy",
)  # fmt: skip


class Arrays:
    """The arrays of one body."""

    def __init__(self, body: Evaluator) -> None:
        self.body = body

    def promised(self, text: str, kind: str, attributes: Lookup) -> Value:
        """The array that an annotation of this function, or of a field, describes."""
        try:
            slots = parse(text)
        except TypednnError:
            return UNKNOWN
        if any(slot.variadic for slot in slots):
            return UNKNOWN

        def name(each: str) -> Dim | None:
            return Dim.named(each) if each in self.body.names else None

        sizes = [None if not slot.text or slot.broadcast else evaluate(slot.text, name, attributes) for slot in slots]
        return Array(self._flow(sizes), kind)

    def binary(self, op: ast.operator, left: Value, right: Value, node: ast.BinOp) -> Value:
        """``a @ b``, and ``a + b`` with whatever else broadcasts as ``+`` does; one side may be a number."""
        match left, right:
            case Array(), Array() if isinstance(op, ast.MatMult):
                return self._product(left, right, node)
            case Array(), Array():
                return self._broadcast(left, right, node)
            case (Array(), Number() | Constant()) | (Number() | Constant(), Array()):
                array = left if isinstance(left, Array) else right
                return replace(array, kind="") if isinstance(array, Array) else UNKNOWN
            case _:
                return UNKNOWN

    def _broadcast(self, left: Array, right: Array, node: ast.BinOp) -> Value:
        a, b = known(left.flow.shape, self.body.names), known(right.flow.shape, self.body.names)
        if a is None or b is None:
            return UNKNOWN
        rank = max(len(a), len(b))
        ones: list[Dim | None] = [Dim.of(1)] * rank
        a, b = ones[: rank - len(a)] + a, ones[: rank - len(b)] + b
        result: list[Dim | None] = []
        for place, (x, y) in enumerate(zip(a, b, strict=True)):
            if x is None or y is None:
                result.append(None)
            elif x.value == 1 or y.value == 1 or same(x, y):
                result.append(y if x.value == 1 else x)
            elif x.value is not None and y.value is not None:
                why = _axiswhy(right, place) or _axiswhy(left, place)
                text = f"{_written(left)} and {_written(right)} do not fit together: axis {place} is {x} and {y}{why}"
                self.body.world.complain(text, node)
                return UNKNOWN
            else:
                result.append(None)
        return Array(self._flow(result))

    def _product(self, left: Array, right: Array, node: ast.BinOp) -> Value:
        a, b = known(left.flow.shape, self.body.names), known(right.flow.shape, self.body.names)
        if a is None or b is None or len(b) != 2 or len(a) < 2:
            return UNKNOWN
        inner, outer = a[-1], b[0]
        if inner is not None and outer is not None and differ(inner, outer):
            self.body.world.complain(f"{_written(left)} @ {_written(right)}: {inner} columns meet {outer} rows", node)
            return UNKNOWN
        return Array(self._flow([*a[:-1], b[1]]))

    def _flow(self, shape: Shape) -> Flow:
        """A shape of this function's own axes: no layer's own name is one of them."""
        flow = Flow.of(shape)
        return replace(flow, symbols={**{each: Dim.named(each) for each in self.body.names}, **flow.symbols})

    def attribute(self, array: Array, name: str) -> Value:
        """``x.shape``, ``x.T``, ``x.ndim``."""
        shape = known(array.flow.shape, self.body.names)
        if shape is None:
            return UNKNOWN
        match name:
            case "shape":
                return Pack(tuple(UNKNOWN if size is None else Number(size) for size in shape), frozen=True)
            case "T":
                return Array(self._flow(shape[::-1]), array.kind)
            case "ndim":
                return Number(Dim.of(len(shape)))
            case _:
                return UNKNOWN

    def method(self, array: Array, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """``x.reshape(…)``, ``x.sum(…)`` and others that do not change ``x``."""
        shape = known(array.flow.shape, self.body.names)
        if shape is None or (keywords and name not in ("sum", "mean", "max", "min", "astype", "copy")):
            return UNKNOWN
        match name:
            case "copy" | "clip" | "round":
                return array
            case "astype":
                return replace(array, kind="")
            case "reshape":
                wanted = arguments[0].items if len(arguments) == 1 and isinstance(arguments[0], Pack) else tuple(arguments)
                return self._reshaped(shape, wanted)
            case "transpose" if arguments and all(integer_of(each) is not None for each in arguments):
                order = [integer_of(each) or 0 for each in arguments]
                return (
                    Array(self._flow([shape[place] for place in order]), array.kind)
                    if sorted(order) == list(range(len(shape)))
                    else UNKNOWN
                )
            case "transpose" if not arguments:
                return Array(self._flow(shape[::-1]), array.kind)
            case "sum" | "mean" | "max" | "min" if not arguments or len(arguments) == 1:
                place = integer_of(arguments[0] if arguments else keywords.get("axis", UNKNOWN))
                if place is None or not -len(shape) <= place < len(shape) or set(keywords) - {"axis", "keepdims"}:
                    return UNKNOWN
                kept: list[Dim | None] = [Dim.of(1)] if keywords.get("keepdims") == Constant(True) else []
                if "keepdims" in keywords and keywords["keepdims"] not in (Constant(True), Constant(False)):
                    return UNKNOWN
                place %= len(shape)
                return Array(self._flow([*shape[:place], *kept, *shape[place + 1 :]]))
            case _:
                return UNKNOWN

    def _reshaped(self, shape: Shape, wanted: Sequence[Value]) -> Value:
        sizes = [each.size if isinstance(each, Number) else None for each in wanted]
        open_places = [place for place, size in enumerate(sizes) if size is not None and size.value == -1]
        if len(open_places) == 1:
            total = _total(shape)
            rest = _total([size for place, size in enumerate(sizes) if place != open_places[0]])
            share = total // rest if total is not None and rest is not None and rest.terms else None
            sizes[open_places[0]] = share if share is not None and rest is not None and share * rest == total else None
        return Array(self._flow(sizes))

    def function(self, name: str, arguments: Sequence[Value], keywords: Mapping[str, Value]) -> Value:
        """New arrays, and functions that keep a shape."""
        if name in ("zeros", "ones", "empty", "full", "standard_normal", "random"):
            given = arguments[0] if arguments else keywords.get("shape", keywords.get("size", UNKNOWN))
            items = given.items if isinstance(given, Pack) else (given,) if isinstance(given, Number) else None
            if items is None:
                return UNKNOWN
            return Array(self._flow([each.size if isinstance(each, Number) else None for each in items]))
        arrays = [each for each in arguments if isinstance(each, Array)]
        others = [each for each in arguments if not isinstance(each, Array | Number | Constant)]
        if name in _SAME_SHAPE and len(arrays) == 1 and not others and not keywords.keys() - {"dtype", "order"}:
            return replace(arrays[0], kind="")
        return UNKNOWN

    def reveal(self, value: Value, node: ast.AST) -> None:
        """``reveal_type(x)`` also says the sizes of an array."""
        if isinstance(value, Array) and value.flow.shape is not None:
            sizes = " ".join("_" if size is None else str(size) for size in value.flow.shape)
            self.body.world.note(f'Revealed sizes are "{sizes}"', node)


def same_precision(a: str, b: str) -> bool:
    """Whether arrays of two kinds may be one: Float32 is a Float, and no Float64."""
    return a == b or not any(a in family and b in family for family in _PRECISIONS)


def why(array: Array, mismatch: Mismatch) -> str:
    """`` (= 5*5*16, from MaxPool2d on 10x10x16)`` of the axis that does not fit, or nothing."""
    return "" if mismatch.axis_index is None else _axiswhy(array, mismatch.axis_index)


def _axiswhy(array: Array, place: int) -> str:
    axes = array.flow.axes
    return axes[place].why if axes is not None and place < len(axes) else ""


def _written(array: Array) -> str:
    shape = array.flow.shape or []
    return f"({', '.join('_' if size is None else str(size) for size in shape)})"


def _total(shape: Shape) -> Dim | None:
    total = Dim.of(1)
    for size in shape:
        if size is None:
            return None
        total = total * size
    return total
