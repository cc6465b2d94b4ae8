"""Reading and assigning elements: ``x[...]``, ``x[...] = y``, and functions that take indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeAlias

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    Unclear,
    broadcast,
    certain,
    fits_into,
    gathered,
    into,
    kind_of,
    like,
    made,
    replaced,
    written,
)
from typednn.mypy_plugin.bounds import at_most
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Number, Pack, Slice, Value, integer_of
from typednn.shapes import Dim

Indexed: TypeAlias = "Callable[[Operands, Shape, Value], Shape | None]"  # the shape of ``x[index]``


def reading(shape_of: Indexed) -> Rule:
    """``x[index]``, by what an index makes of a shape."""
    return lambda o: made(certain(shape_of(o, certain(o.shape("a")), o["index"])), o.kind("a"))


def assigning(shape_of: Indexed) -> Rule:
    """``x[index] = value``."""

    def rule(o: Operands) -> Value:
        shape, value = o.shape("a"), o.shape("value")
        target = None if shape is None else shape_of(o, shape, o["index"])
        if target is not None and value is not None:
            fits_into(value, target, o.differ, "assignment", ones=True)
        return o["a"]

    return rule


def indexed(o: Operands, shape: Shape, index: Value) -> Shape | None:
    """The shape of ``x[index]``; None where it is not known."""
    parts = list(index.items) if isinstance(index, Pack) and index.frozen else [index]
    if any(_axes_of(each) is None for each in parts):
        return None
    used = sum(_axes_of(each) or 0 for each in parts)
    if used > len(shape):
        raise Misfit(f"{written(shape)} has {len(shape)} axes, the index names {used}")
    dots = sum(each == Constant(Ellipsis) for each in parts)
    if dots > 1:
        raise Misfit("an index can have one ... only")
    if not dots:
        parts.append(Constant(Ellipsis))
    result: Shape = []
    arrays: list[Value] = []
    first = apart = None  # where the axes of index arrays go
    place = 0
    for part in parts:
        match part:
            case Constant(value=value) if value is Ellipsis:
                result += shape[place : place + len(shape) - used]
                place += len(shape) - used
            case Constant(value=None):
                result.append(ONE)
            case Slice():
                result.append(sliced(shape, place, part))
                place += 1
            case Number() if not _is_advanced(parts):
                _inside(shape, place, part)
                place += 1
            case _:
                if first is not None and apart is None and len(result) != first:
                    apart = 0  # separated by a slice: NumPy puts their axes first
                first = len(result) if first is None else first
                arrays.append(_as_indices(o, shape, place, part))
                place += _axes_of(part) or 0
    if not arrays:
        return result
    common = broadcast(arrays, o.differ)
    at = apart if apart is not None else first or 0
    return None if common is None else [*result[:at], *common, *result[at:]]


def _is_advanced(parts: Sequence[Value]) -> bool:
    return any(isinstance(each, Array | Pack) for each in parts)


def _axes_of(part: Value) -> int | None:
    """How many axes a part of an index takes."""
    match part:
        case Constant(value=value) if value is None or value is Ellipsis:
            return 0
        case Constant(value=bool()):
            return None
        case Array(flow=flow, kind="Bool"):
            return None if flow.shape is None else len(flow.shape)
        case Array(flow=flow, kind=kind):
            return 1 if flow.shape is not None and dtypes.family(kind) in ("Int", "UInt") else None
        case Pack(items=items) if all(isinstance(each, Number) for each in items):
            return 1
        case Number() | Slice():
            return 1
        case _:
            return None


def _as_indices(o: Operands, shape: Shape, place: int, part: Value) -> Value:
    if isinstance(part, Array) and part.kind == "Bool":
        mask = part.flow.shape or []
        for offset, (size, given) in enumerate(zip(shape[place : place + len(mask)], mask, strict=True)):
            message = f"mask {written(mask)} on {written(shape)}: axis {place + offset} is {size} and {given}"
            o.meet(size, given, message, part, offset)
        return made([None], "Int64")
    if isinstance(part, Number):
        _inside(shape, place, part)
        return made([])
    if isinstance(part, Pack):
        for each in part.items:
            _inside(shape, place, each)
        return made([Dim.of(len(part.items))])
    return part


def _inside(shape: Shape, place: int, index: Value) -> None:
    """Whether an axis has an element of this number."""
    size, number = shape[place], integer_of(index)
    if size is not None and size.value is not None and number is not None and not -size.value <= number < size.value:
        raise Misfit(f"index {number} of axis {place} of {written(shape)}: it has {size} elements")


def sliced(shape: Shape, place: int, part: Slice) -> Dim | None:
    """The size of an axis after a slice."""
    size = shape[place]
    start, stop, step = (None if each == Constant(None) else each for each in (part.start, part.stop, part.step))
    if step is not None and integer_of(step) == 0:
        raise Misfit("a slice has no step of zero")
    if start is stop is step is None:
        return size
    if size is not None and size.value is not None and (known := part.numbers) is not None:
        return Dim.of(len(range(*known.indices(size.value))))
    return _symbolic(size, start, stop, 1 if step is None else integer_of(step))


def _symbolic(size: Dim | None, start: Value | None, stop: Value | None, step: int | None) -> Dim | None:
    """A slice of an axis whose size is a symbol: only where every size gives the same formula."""
    if step != 1:
        if start is stop is None and step == -1:
            return size
        if (
            size is None
            or step is None
            or step < 2
            or stop is not None
            or (start is not None and integer_of(start) != 0)
        ):
            return None
        return (size + (step - 1)) // step
    begin = start.size if isinstance(start, Number) else Dim.of(0) if start is None else None
    end = stop.size if isinstance(stop, Number) else size if stop is None else None
    if begin is None or end is None:
        return None
    if (begin.value or 0) < 0:
        return at_most(size, -(begin.value or 0)) if size is not None and stop is None else None
    if begin.value is None and stop is not None and end.value is None:
        return end - begin  # x[i : i + 5]
    if size is None or size.value is not None:
        return None
    if end.value is not None and end.value < 0:
        end = size + end
    if end.value == 1 and begin.value == 0:
        return ONE  # of every size
    if begin.value == 0 and (end.value or 0) > 0:
        return at_most(size, end.value or 0)
    return end - begin if _within(end, size) and (begin.value is not None or _within(begin, size)) else None


def _within(end: Dim, size: Dim) -> bool:
    """Whether a bound is meant to be between 0 and the size: it is the size less a number, nothing, or
    a share of it.
    """
    less = (size - end).value
    if end.value == 0 or (less is not None and less >= 0):
        return True
    for factor in range(2, 9):
        if end * factor == size or (size // factor) == end:
            return True
        if any(end * factor == size * times for times in range(2, factor)):
            return True
    rest = size - end  # such as 3*hidden of 4*hidden: both have only positive terms
    return bool(end.terms and rest.terms) and all(c > 0 for _, c in end.terms) and all(c > 0 for _, c in rest.terms)


def _taken(o: Operands) -> Value:
    shape, indices = certain(o.both("a", "indices"))
    if not o.given("axis"):
        return into(o, indices, o.kind("a"))
    shape, place = o.along(shape, number=True)
    return into(o, None if place is None else replaced(shape, place, *indices), o.kind("a"))


def _taken_along(o: Operands) -> Value:
    shape, indices = certain(o.both("arr", "indices"))
    if not o.given("axis"):
        return UNKNOWN
    place = o.axis("axis", shape)
    if len(shape) != len(indices):
        raise Misfit(
            f"take_along_axis: {written(shape)} has {len(shape)} axes, the indices {written(indices)} have "
            f"{len(indices)}"
        )
    place = certain(place)
    masked = [made([ONE if axis == place else size for axis, size in enumerate(each)]) for each in (shape, indices)]
    common = broadcast(masked, o.differ)
    return made(None if common is None else replaced(common, place, indices[place]), o.kind("arr"))


def _put_along(o: Operands) -> Value:
    with suppress(Unclear):
        _taken_along(o)
    return Constant(None)


def _nonzero(o: Operands) -> Value:
    shape = certain(o.shape("a"))
    if not shape:
        raise Misfit("nonzero of a number: it has no axes")
    return Pack((made([None], "Int64"),) * len(shape), frozen=True)


def _where_nonzero(o: Operands) -> Value:
    return made([None, Dim.of(len(certain(o.shape("a"))))], "Int64")


def _compressed(o: Operands) -> Value:
    shape, condition = o.shape("a"), o.shape("condition")
    if condition is not None and len(condition) != 1:
        raise Misfit(f"compress: the condition has {len(condition)} axes, needs one")
    if not o.given("axis"):
        return into(o, [None], o.kind("a"))
    place = None if shape is None else o.axis("axis", shape)
    return into(o, None if shape is None or place is None else replaced(shape, place, None), o.kind("a"))


def _interpolated(o: Operands) -> Value:
    x, y = o.shape("xp"), o.shape("fp")
    for shape in (x, y):
        if shape is not None and len(shape) != 1:
            raise Misfit(f"interp: the points have {len(shape)} axes, need one")
    if x is not None and y is not None:
        o.meet(x[0], y[0], f"interp: {x[0]} places, {y[0]} values", o["fp"], 0)
        if any(each[0] is not None and each[0].value == 0 for each in (x, y)):
            raise Misfit("interp: there are no points")
    return made(o.shape("x"), dtypes.quotient("Float64", o.kind("fp")))


def _open_mesh(o: Operands) -> Value:
    values, shapes = gathered(o, "args")
    if any(len(shape) != 1 for shape in shapes):
        raise Misfit("ix_: each index must have one axis")
    whole = [dtypes.family(kind_of(each)) in ("Int", "UInt") for each in values]
    sizes = [shape[0] if known else None for shape, known in zip(shapes, whole, strict=True)]
    return Pack(
        tuple(made([size if place == each else ONE for each in range(len(sizes))]) for place, size in enumerate(sizes)),
        frozen=True,
    )


def _triangle_places(o: Operands, lower: int) -> Value:
    rows, offset = o.integer("n"), o.integer("k")
    columns = o.integer("m") if o.given("m") else rows
    if rows is None or columns is None or offset is None:
        return Pack((made([None], "Int64"),) * 2, frozen=True)
    below = sum(min(columns, max(0, row + offset + lower)) for row in range(rows))
    return Pack((made([Dim.of(below if lower else rows * columns - below)], "Int64"),) * 2, frozen=True)


def _lexsorted(o: Operands) -> Value:
    if o["keys"] in (Pack(()), Pack((), frozen=True)):
        raise Misfit("lexsort: needs a key")
    keys = o.shape("keys")
    shape = keys[1:] if keys else None
    place = None if shape is None else o.axis("axis", shape, len(shape) or 1)
    return made(shape if place is not None else None, "Int64")


def _added_at(o: Operands) -> Value:
    """``np.add.at(x, index, y)``."""
    assigning(indexed)(Operands({"a": o["a"], "index": o["indices"], "value": o["b"]}, o.differ))
    return Constant(None)


def _copied(o: Operands) -> Value:
    target, source = o.shape("dst"), o.shape("src")
    if target is not None and source is not None:
        fits_into(source, target, o.differ, "copyto", ones=True)
    return Constant(None)


def _deleted(o: Operands) -> Value:
    shape, place = o.along(certain(o.shape("arr")))
    place, kind = certain(place), o.kind("arr")
    if integer_of(o["obj"]) is None:
        return made(replaced(shape, place, None), kind)
    _inside(shape, place, o["obj"])
    size = shape[place]
    return made(replaced(shape, place, None if size is None else size - 1), kind)


def _inserted(o: Operands) -> Value:
    shape, values = o.shape("arr"), o.shape("values")
    shape, place = o.along(certain(shape))
    if place is None or integer_of(o["obj"]) is None:
        return UNKNOWN
    size = shape[place]
    one = values == [] or (values is not None and len(shape) > 1 and len(values) < len(shape))
    return made(replaced(shape, place, size + 1 if one and size is not None else None), o.kind("arr"))


def _unique(o: Operands) -> Value:
    plain = all(o.flag(name) is False for name in ("return_index", "return_inverse", "return_counts")) and not o.given(
        "axis"
    )
    return made([None], o.kind("ar")) if plain else UNKNOWN


TABLE: dict[str, Row] = {
    "[]": Row("a, index", reading(indexed)),
    "[]=": Row("a, index, value", assigning(indexed)),
    "numpy.take": Row("a, indices, axis=None, out=None, mode='raise'", _taken),
    "Array.take()": Row("a, indices, axis=None, out=None, mode='raise'", _taken),
    "numpy.take_along_axis": Row("arr, indices, axis=-1", _taken_along),
    "numpy.put_along_axis": Row("arr, indices, values, axis", _put_along),
    "numpy.nonzero": Row("a", _nonzero),
    "Array.nonzero()": Row("a", _nonzero),
    "numpy.unique": Row(
        "ar, return_index=False, return_inverse=False, return_counts=False, axis=None, *, equal_nan=True", _unique
    ),
    "numpy.argwhere": Row("a", _where_nonzero),
    "numpy.flatnonzero": Row("a", lambda o: made([None], "Int64")),
    "numpy.extract": Row("condition, a", lambda o: made([None], o.kind("a"))),
    "numpy.compress": Row("condition, a, axis=None, out=None", _compressed),
    "numpy.digitize": Row("x, bins, right=False", like("x", dtypes.index)),
    "numpy.isin": Row(
        "element, test_elements, assume_unique=False, invert=False, *, kind=None", like("element", dtypes.boolean)
    ),
    "numpy.interp": Row("x, xp, fp, left=None, right=None, period=None", _interpolated),
    "numpy.ix_": Row("*args", _open_mesh),
    "numpy.triu_indices": Row("n, k=0, m=None", lambda o: _triangle_places(o, 0)),
    "numpy.tril_indices": Row("n, k=0, m=None", lambda o: _triangle_places(o, 1)),
    "numpy.lexsort": Row("keys, axis=-1", _lexsorted),
    **{
        f"numpy.{name}.at": Row("a, indices, b, /", _added_at)
        for name in ("add", "subtract", "multiply", "maximum", "minimum")
    },
    "numpy.copyto": Row("dst, src, casting='same_kind', where=True", _copied),
    "numpy.delete": Row("arr, obj, axis=None", _deleted),
    "numpy.insert": Row("arr, obj, values, axis=None", _inserted),
    "numpy.searchsorted": Row("a, v, side='left', sorter=None", like("v", dtypes.index)),
}
