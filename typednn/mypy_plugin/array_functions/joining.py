"""Functions that join arrays, or take one apart."""

from __future__ import annotations

from collections.abc import Sequence

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.elementwise import into
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Conflict,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    dtype_of,
    kind_of,
    made,
    position,
    shape_of,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Many, Pack, Value, integer_of
from typednn.shapes import Dim


def _shapes(o: Operands, name: str) -> tuple[list[Shape], str] | None:
    values = o[name]
    if not isinstance(values, Pack) or values.keys:
        return None
    shapes = [shape_of(each, o.differ) for each in values.items]
    known = [each for each in shapes if each is not None]
    if not values.items:
        raise Misfit("needs at least one array")
    kind = dtypes.strong(dtypes.promoted(*map(kind_of, values.items)))
    return (known, kind) if len(known) == len(shapes) else None


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
                raise Misfit(f"{what}: {written(first)} and {written(shape)}: axis {each} is {x} and {y}", operand, each) from None
    return result


def _concatenate(o: Operands) -> Value:
    found = _shapes(o, "arrays")
    if found is None:
        return UNKNOWN
    shapes, kind = found
    kind = dtype_of(o["dtype"]) or kind
    if not o.given("axis"):
        sizes = [_elements(each) for each in shapes]
        return made([_sum(sizes)], kind)
    axis = o.integer("axis")
    if any(not each for each in shapes):
        raise Misfit("concatenate: a number has no axis; write stack, or give each an axis")
    return UNKNOWN if axis is None else into(o, _joined(o, f"concatenate along axis {axis}", shapes, axis), kind)


def _elements(shape: Shape) -> Dim | None:
    result = ONE
    for size in shape:
        if size is None:
            return None
        result = result * size
    return result


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
    return made(_joined(o, "stack", raised, place), dtype_of(o["dtype"]) or kind)


def _along(axis: int, least: int) -> Rule:
    """``vstack`` and its kin: each array gets at least ``least`` axes first."""

    def rule(o: Operands) -> Value:
        found = _shapes(o, "tup")
        if found is None:
            return UNKNOWN
        shapes, kind = found
        if least == 3:
            shapes = [each or [ONE] for each in shapes]
            raised = [[ONE, *each, ONE] if len(each) == 1 else [*each, ONE] if len(each) == 2 else each for each in shapes]
        elif axis == 0:
            raised = [[*[ONE] * (2 - len(each)), *each] for each in shapes]
        else:
            raised = [each or [ONE] for each in shapes]
        place = 0 if least == 1 and len(raised[0]) == 1 else axis
        return made(_joined(o, "hstack" if least == 1 else "vstack" if axis == 0 else "dstack", raised, place), kind)

    return rule


def _columns(o: Operands) -> Value:
    found = _shapes(o, "tup")
    if found is None:
        return UNKNOWN
    shapes, kind = found
    return made(_joined(o, "column_stack", [[*(each or [ONE]), ONE] if len(each) < 2 else each for each in shapes], 1), kind)


def _split(o: Operands) -> Value:
    shape, places, axis = o.shape("ary"), o["indices_or_sections"], o.integer("axis")
    if shape is None or axis is None:
        return UNKNOWN
    place, kind = position(axis, len(shape), shape), dtypes.strong(o.kind("ary"))
    size, sections = shape[place], integer_of(places)
    if sections is not None:
        if sections < 1:
            raise Misfit(f"split into {sections} parts")
        if size is not None and size.value is not None and size.value % sections:
            raise Misfit(f"split of axis {place} of {written(shape)} into {sections}: {size} is no multiple of {sections}", o["ary"], place)
        share = None if size is None else size // sections
        share = share if share is not None and share * sections == size else None
        part = made([*shape[:place], share, *shape[place + 1 :]], kind)
        return Pack((part,) * sections) if sections <= 64 else Many(part)
    if not isinstance(places, Pack):
        part = made([*shape[:place], None, *shape[place + 1 :]], kind)
        return Many(part)
    ends = [integer_of(each) for each in places.items]
    known = [each for each in ends if each is not None]
    if size is None or size.value is None or len(known) < len(ends):
        return Pack(tuple(made([*shape[:place], None, *shape[place + 1 :]], kind) for _ in range(len(ends) + 1)))
    edges = [slice(a, b).indices(size.value)[:2] for a, b in zip([0, *known], [*known, None], strict=True)]
    return Pack(tuple(made([*shape[:place], Dim.of(max(0, b - a)), *shape[place + 1 :]], kind) for a, b in edges))


def _parts(o: Operands) -> Value:
    """``array_split``: the first parts are one larger where the size is no multiple."""
    shape, sections, axis = o.shape("ary"), integer_of(o["indices_or_sections"]), o.integer("axis")
    if shape is None or axis is None or sections is None:
        return UNKNOWN if isinstance(o["indices_or_sections"], Pack) is False else _split(o)
    place = position(axis, len(shape), shape)
    size = shape[place]
    if sections < 1:
        raise Misfit(f"array_split into {sections} parts")
    if sections > 64:
        return UNKNOWN
    known = None if size is None else size.value
    sizes = [None if known is None else Dim.of(known // sections + (each < known % sections)) for each in range(sections)]
    return Pack(tuple(made([*shape[:place], each, *shape[place + 1 :]], dtypes.strong(o.kind("ary"))) for each in sizes))


def _append(o: Operands) -> Value:
    shapes = o.shape("arr"), o.shape("values")
    kind = dtypes.strong(dtypes.promoted(o.kind("arr"), o.kind("values")))
    if shapes[0] is None or shapes[1] is None:
        return UNKNOWN
    if not o.given("axis"):
        return made([_sum([_elements(shapes[0]), _elements(shapes[1])])], kind)
    axis = o.integer("axis")
    return UNKNOWN if axis is None else made(_joined(o, f"append along axis {axis}", [shapes[0], shapes[1]], axis), kind)


TABLE: dict[str, Row] = {
    "numpy.concatenate": Row("arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'", _concatenate),
    "numpy.concat": Row("arrays, /, axis=0, out=None, *, dtype=None, casting='same_kind'", _concatenate),
    "numpy.stack": Row("arrays, axis=0, out=None, *, dtype=None, casting='same_kind'", _stack),
    "numpy.vstack": Row("tup, *, dtype=None, casting='same_kind'", _along(0, 2)),
    "numpy.hstack": Row("tup, *, dtype=None, casting='same_kind'", _along(1, 1)),
    "numpy.dstack": Row("tup", _along(2, 3)),
    "numpy.column_stack": Row("tup", _columns),
    "numpy.split": Row("ary, indices_or_sections, axis=0", _split),
    "numpy.array_split": Row("ary, indices_or_sections, axis=0", _parts),
    "numpy.append": Row("arr, values, axis=None", _append),
}
