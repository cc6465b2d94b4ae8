"""Functions that join arrays, or take one apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.indexing import sliced
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    certain,
    gathered,
    inserted,
    into,
    kind_of,
    made,
    position,
    replaced,
    shape_of,
    share,
    total,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Many, Number, Pack, Slice, Value, integer_of
from typednn.shapes import Dim


def _shapes(o: Operands, name: str, *, weak: bool = False) -> tuple[list[Shape], str]:
    values, shapes = gathered(o, name)
    if not values:
        raise Misfit("needs at least one array")
    kinds = [kind_of(each) if weak else dtypes.strong(kind_of(each)) for each in values]
    return shapes, o.dtype(dtypes.promoted(*kinds))


def _joined(o: Operands, what: str, shapes: Sequence[Shape], axis: int) -> Shape:
    """Arrays one after another along an axis."""
    first = shapes[0]
    place = position(axis, len(first), first)
    result = list(first)
    arrays = o.values.get("arrays", o.values.get("tup", UNKNOWN))
    for index, shape in enumerate(shapes[1:], 1):
        if len(shape) != len(first):
            raise Misfit(f"{what}: {written(first)} and {written(shape)} have {len(first)} and {len(shape)} axes")
        operand = arrays.items[index] if isinstance(arrays, Pack) else UNKNOWN
        for each, (x, y) in enumerate(zip(result, shape, strict=True)):
            if each == place:
                result[each] = None if x is None or y is None else x + y
            elif x is None or x != y:
                message = f"{what}: {written(first)} and {written(shape)}: axis {each} is {x} and {y}"
                result[each] = o.meet(x, y, message, operand, each)
    return result


def _concatenate(o: Operands) -> Value:
    if isinstance(values := o["arrays"], Many) and o.given("axis"):
        shape = certain(shape_of(values.item, o.differ))
        place = position(certain(o.integer("axis")), len(shape))
        return into(o, replaced(shape, place, None), kind_of(values.item))
    shapes, kind = _shapes(o, "arrays", weak=True)
    if not o.given("axis"):
        return into(o, [_sum([total(each) for each in shapes])], kind)
    if any(not each for each in shapes):
        raise Misfit("concatenate: a number has no axis; write stack, or give each an axis")
    axis = certain(o.integer("axis"))
    return into(o, _joined(o, f"concatenate along axis {axis}", shapes, axis), kind)


def _sum(sizes: Sequence[Dim | None]) -> Dim | None:
    known = [size for size in sizes if size is not None]
    return sum(known, start=Dim.of(0)) if len(known) == len(sizes) else None


def _stack(o: Operands) -> Value:
    values, axis = o["arrays"], o.integer("axis")
    if isinstance(values, Many):
        shape = certain(shape_of(values.item, o.differ))
        return made(inserted(shape, certain(axis), None), kind_of(values.item))
    shapes, kind = _shapes(o, "arrays")
    place = position(certain(axis), len(shapes[0]) + 1)
    raised = [inserted(each, place, ONE) for each in shapes if len(each) == len(shapes[0])]
    if len(raised) < len(shapes):
        raise Misfit(f"stack: {' and '.join(map(written, shapes[:3]))}: all need the same shape")
    return into(o, _joined(o, "stack", raised, place), kind)


def at_least(shape: Shape, rank: int) -> Shape:
    """``atleast_1d`` and its kin: axes of one element around a shape of fewer axes."""
    after: Shape = [ONE] if rank == 3 and shape and len(shape) < 3 else []
    return [*[ONE] * (rank - len(shape) - len(after)), *shape, *after]


def _along(axis: int, least: int) -> Rule:
    """``vstack`` and its kin: each array gets at least ``least`` axes first."""

    def rule(o: Operands) -> Value:
        shapes, kind = _shapes(o, "tup")
        raised = [at_least(each, least) for each in shapes]
        place = 0 if least == 1 and len(raised[0]) == 1 else axis
        return made(_joined(o, "hstack" if least == 1 else "vstack" if axis == 0 else "dstack", raised, place), kind)

    return rule


def _columns(o: Operands) -> Value:
    shapes, kind = _shapes(o, "tup")
    raised = [each if len(each) > 1 else [*(each or [ONE]), ONE] for each in shapes]
    return made(_joined(o, "column_stack", raised, 1), kind)


def _equal_parts(o: Operands, shape: Shape, place: int) -> Value:
    size, given, kind = shape[place], o["indices_or_sections"], o.kind("ary")
    sections = integer_of(given)
    if sections is None:
        parts = given.size if isinstance(given, Number) else None
        return Many(made(replaced(shape, place, share(size, parts)), kind))
    if sections < 1 or (size is not None and size.value is not None and size.value % sections):
        raise Misfit(
            f"split of axis {place} of {written(shape)} into {sections}: {size} is no multiple of {sections}",
            o["ary"],
            place,
        )
    part = made(replaced(shape, place, share(size, Dim.of(sections))), kind)
    return Pack((part,) * sections) if sections <= _MOST else Many(part)


def _nearly_equal_parts(o: Operands, shape: Shape, place: int) -> Value:
    """The first parts are one larger where the size is no multiple."""
    size, sections = shape[place], integer_of(o["indices_or_sections"])
    if sections is None or sections > _MOST:
        return Many(made(replaced(shape, place, None), o.kind("ary")))
    if sections < 1:
        raise Misfit(f"array_split into {sections}: give at least 1")
    known = None if size is None else size.value
    sizes = [
        None if known is None else Dim.of(known // sections + (each < known % sections)) for each in range(sections)
    ]
    if (equal := share(size, Dim.of(sections))) is not None:
        sizes = [equal] * sections
    return Pack(tuple(made(replaced(shape, place, each), o.kind("ary")) for each in sizes))


def _split(parts: Callable[[Operands, Shape, int], Value], default: int | None = None, least: int = 0) -> Rule:
    """Into parts, or at places; ``default``: the axis where none is an argument, of arrays with ``least`` axes."""

    def rule(o: Operands) -> Value:
        shape, places = certain(o.shape("ary")), o["indices_or_sections"]
        axis = certain(o.integer("axis") if default is None else default)
        if len(shape) < least:
            raise Misfit(f"split of {written(shape)}: needs {least} axes")
        place = position(axis if least != 1 or len(shape) > 1 else 0, len(shape), shape)
        if isinstance(places, Number):
            return parts(o, shape, place)
        if not isinstance(places, Pack):
            return Many(made(replaced(shape, place, None), o.kind("ary")))
        ends = [Constant(None), *places.items, Constant(None)]
        pieces = [
            Slice(a if place else Constant(None), b, Constant(None)) for place, (a, b) in enumerate(pairwise(ends))
        ]
        return Pack(tuple(made(replaced(shape, place, sliced(shape, place, each)), o.kind("ary")) for each in pieces))

    return rule


def _append(o: Operands) -> Value:
    (a, b), kind = certain(o.both("arr", "values")), o.kind("arr", "values")
    if not o.given("axis"):
        return made([_sum([total(a), total(b)])], kind)
    axis = certain(o.integer("axis"))
    return made(_joined(o, f"append along axis {axis}", [a, b], axis), kind)


_MOST = 64  # parts that are followed one by one

TABLE: dict[str, Row] = {
    "numpy.concatenate": Row("arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'", _concatenate),
    "numpy.concat": Row("arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'", _concatenate),
    "numpy.stack": Row("arrays, axis=0, out=None, *, dtype=None, casting='same_kind'", _stack),
    "numpy.vstack": Row("tup, *, dtype=None, casting='same_kind'", _along(0, 2)),
    "numpy.hstack": Row("tup, *, dtype=None, casting='same_kind'", _along(1, 1)),
    "numpy.dstack": Row("tup", _along(2, 3)),
    "numpy.column_stack": Row("tup", _columns),
    "numpy.split": Row("ary, indices_or_sections, axis=0", _split(_equal_parts)),
    "numpy.array_split": Row("ary, indices_or_sections, axis=0", _split(_nearly_equal_parts)),
    "numpy.vsplit": Row("ary, indices_or_sections", _split(_equal_parts, 0, 2)),
    "numpy.hsplit": Row("ary, indices_or_sections", _split(_equal_parts, 1, 1)),
    "numpy.dsplit": Row("ary, indices_or_sections", _split(_equal_parts, 2, 3)),
    "numpy.append": Row("arr, values, axis=None", _append),
}
