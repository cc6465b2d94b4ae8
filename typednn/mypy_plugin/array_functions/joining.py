"""Functions that join arrays, or take one apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.indexing import sliced
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Conflict,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    dtype_of,
    gathered,
    into,
    kind_of,
    made,
    position,
    replaced,
    shape_of,
    total,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Many, Number, Pack, Slice, Value, integer_of
from typednn.shapes import Dim


def _shapes(o: Operands, name: str, *, weak: bool = False) -> tuple[list[Shape], str] | None:
    found = gathered(o, name)
    if found is None:
        return None
    values, shapes = found
    if not values:
        raise Misfit("needs at least one array")
    wanted = dtype_of(o.values.get("dtype", Constant(None)))
    kinds = [kind_of(each) if weak else dtypes.strong(kind_of(each)) for each in values]
    return shapes, dtypes.promoted(*kinds) if wanted is None else wanted


def _joined(o: Operands, what: str, shapes: Sequence[Shape], axis: int) -> Shape:
    """Arrays one after another along an axis."""
    first = shapes[0]
    place = position(axis, len(first), first)
    result = list(first)
    for index, shape in enumerate(shapes[1:], 1):
        if len(shape) != len(first):
            raise Misfit(f"{what}: {written(first)} and {written(shape)} have {len(first)} and {len(shape)} axes")
        for each, (x, y) in enumerate(zip(result, shape, strict=True)):
            if each == place:
                result[each] = None if x is None or y is None else x + y
                continue
            try:
                result[each] = o.meet(x, y)
            except Conflict:
                blamed = o.values.get("arrays", o.values.get("tup", UNKNOWN))
                operand = blamed.items[index] if isinstance(blamed, Pack) else UNKNOWN
                raise Misfit(
                    f"{what}: {written(first)} and {written(shape)}: axis {each} is {x} and {y}", operand, each
                ) from None
    return result


def _concatenate(o: Operands) -> Value:
    found = _shapes(o, "arrays", weak=True)
    if found is None:
        return UNKNOWN
    shapes, kind = found
    if not o.given("axis"):
        return into(o, [_sum([total(each) for each in shapes])], kind)
    axis = o.integer("axis")
    if any(not each for each in shapes):
        raise Misfit("concatenate: a number has no axis; write stack, or give each an axis")
    return UNKNOWN if axis is None else into(o, _joined(o, f"concatenate along axis {axis}", shapes, axis), kind)


def _sum(sizes: Sequence[Dim | None]) -> Dim | None:
    result = Dim.of(0)
    for size in sizes:
        if size is None:
            return None
        result = result + size
    return result


def _stack(o: Operands) -> Value:
    values = o["arrays"]
    if isinstance(values, Many):
        shape = shape_of(values.item, o.differ)
        axis = o.integer("axis")
        if shape is None or axis is None:
            return UNKNOWN
        place = position(axis, len(shape) + 1)
        return made([*shape[:place], None, *shape[place:]], kind_of(values.item))
    found, axis = _shapes(o, "arrays"), o.integer("axis")
    if found is None or axis is None:
        return UNKNOWN
    shapes, kind = found
    place = position(axis, len(shapes[0]) + 1)
    raised = [[*each[:place], ONE, *each[place:]] for each in shapes if len(each) == len(shapes[0])]
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
        found = _shapes(o, "tup")
        if found is None:
            return UNKNOWN
        shapes, kind = found
        if least == 3:
            raised = [at_least(each, 3) for each in shapes]
        elif axis == 0:
            raised = [at_least(each, 2) for each in shapes]
        else:
            raised = [at_least(each, 1) for each in shapes]
        place = 0 if least == 1 and len(raised[0]) == 1 else axis
        return made(_joined(o, "hstack" if least == 1 else "vstack" if axis == 0 else "dstack", raised, place), kind)

    return rule


def _columns(o: Operands) -> Value:
    found = _shapes(o, "tup")
    if found is None:
        return UNKNOWN
    shapes, kind = found
    return made(
        _joined(o, "column_stack", [each if len(each) > 1 else [*(each or [ONE]), ONE] for each in shapes], 1), kind
    )


def _equal_parts(o: Operands, shape: Shape, place: int) -> Value:
    size, given, kind = shape[place], o["indices_or_sections"], o.kind("ary")
    sections = integer_of(given)
    if sections is None:
        share = size // given.size if size is not None and isinstance(given, Number) and given.size.terms else None
        known = share is not None and isinstance(given, Number) and share * given.size == size
        return Many(made(replaced(shape, place, share if known else None), kind))
    if sections < 1 or (size is not None and size.value is not None and size.value % sections):
        raise Misfit(
            f"split of axis {place} of {written(shape)} into {sections}: {size} is no multiple of {sections}",
            o["ary"],
            place,
        )
    share = None if size is None else size // sections
    part = made(replaced(shape, place, share if share is not None and share * sections == size else None), kind)
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
    share = None if size is None else size // sections
    if share is not None and share * sections == size:
        sizes = [share] * sections
    return Pack(tuple(made(replaced(shape, place, each), o.kind("ary")) for each in sizes))


def _split(parts: Callable[[Operands, Shape, int], Value], default: int | None = None, least: int = 0) -> Rule:
    """Into parts, or at places; ``default``: the axis where none is an argument, of arrays with ``least`` axes."""

    def rule(o: Operands) -> Value:
        shape, places = o.shape("ary"), o["indices_or_sections"]
        axis = o.integer("axis") if default is None else default
        if shape is None or axis is None:
            return UNKNOWN
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
    shapes = o.shape("arr"), o.shape("values")
    kind = dtypes.promoted(o.kind("arr"), o.kind("values"))
    if shapes[0] is None or shapes[1] is None:
        return UNKNOWN
    if not o.given("axis"):
        return made([_sum([total(shapes[0]), total(shapes[1])])], kind)
    axis = o.integer("axis")
    return (
        UNKNOWN if axis is None else made(_joined(o, f"append along axis {axis}", [shapes[0], shapes[1]], axis), kind)
    )


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
