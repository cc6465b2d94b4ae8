"""Functions that move, add, drop or repeat axes and elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typednn.mypy_plugin.array_functions import dtypes, movement
from typednn.mypy_plugin.array_functions.linear_algebra import diagonal
from typednn.mypy_plugin.array_functions.rows import (
    NONE,
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    borrowed,
    certain,
    fits_into,
    like,
    made,
    outside,
    position,
    replaced,
    sizes_of,
    total,
    written,
)
from typednn.mypy_plugin.array_functions.torch_functions.arguments import dim, dims, named, row, several
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, DType, Number, Pack, Value, integer_of, number
from typednn.shapes import Dim, number_of_axes, same

_LEFT = Dim.of(-1)


def ordered(o: Operands, shape: Shape, order: Sequence[int]) -> Value:
    """The axes in another order; each keeps where its size comes from."""
    value = o["input"]
    if isinstance(value, Array) and value.flow.axes is not None:
        axes = tuple(value.flow.axes[place] for place in order)
        return replace(value, flow=replace(value.flow, axes=axes, untouched=False))
    return made([shape[place] for place in order], o.kind("input"))


def _reshaped(o: Operands) -> Value:
    sizes = several(o["shape"])
    if isinstance(sizes, DType) or sizes is UNKNOWN:
        return UNKNOWN
    given = {"a": o["input"], "shape": sizes, "order": Constant("C")}
    return movement.TABLE["numpy.reshape"].rule(Operands(given, o.differ))


def _as_other(o: Operands) -> Value:
    shape, other = certain(o.both("input", "other"))
    elements, needed = total(shape), total(other)
    if elements is not None and needed is not None and not same(elements, needed):
        both = elements.value is not None and needed.value is not None
        if both or o.differ(elements, needed):
            raise Misfit(f"{written(shape)} as {written(other)}: {elements} elements into {needed}", o["input"])
    return made(other, o.kind("input"))


def _flattened(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    if not shape:
        return made([ONE], o.kind("input"))
    start, end = dim(o, shape, "start_dim"), dim(o, shape, "end_dim")
    if start > end:
        raise Misfit(f"flatten of {written(shape)} from axis {start} to axis {end}")
    return made([*shape[:start], total(shape[start : end + 1]), *shape[end + 1 :]], o.kind("input"))


def _unflattened(o: Operands) -> Value:
    shape, sizes = certain(o.shape("input")), certain(sizes_of(o["sizes"]))
    place = dim(o, shape)
    if not shape:
        return UNKNOWN
    size, left = shape[place], [each for each, value in enumerate(sizes) if value == _LEFT]
    given = {"a": made([size]), "shape": Pack(tuple(UNKNOWN if each is None else Number(each) for each in sizes))}
    if len(left) > 1 or not sizes:
        raise Misfit(f"unflatten of axis {place} of {written(shape)} into {written(sizes)}")
    inner = movement.TABLE["numpy.reshape"].rule(Operands(given, o.differ))
    return made(replaced(shape, place, *certain(inner.flow.shape if isinstance(inner, Array) else None)))


def _permuted(o: Operands) -> Value:
    shape, axes = certain(o.shape("input")), several(o["dims"])
    places = [integer_of(each) for each in axes.items] if isinstance(axes, Pack) else [None]
    if len(places) != len(shape) and None not in places:
        raise Misfit(f"permute {tuple(places)} of {written(shape)}: give each of its {len(shape)} axes once")
    known = [position(certain(each), len(shape), shape) for each in places]
    if len(set(known)) < len(known):
        raise Misfit(f"permute {tuple(places)} of {written(shape)}: an axis stands twice; give each axis once")
    return ordered(o, shape, known)


def _swapped(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    first, second = dim(o, shape, "dim0"), dim(o, shape, "dim1")
    order = list(range(len(shape)))
    if shape:
        order[first], order[second] = second, first
    return ordered(o, shape, order)


def _turned(o: Operands) -> Value:
    """``x.t()`` of a matrix."""
    shape = certain(o.shape("input"))
    if len(shape) > 2:
        raise Misfit(f"t of {written(shape)}: needs a matrix, at most 2 axes")
    return ordered(o, shape, range(len(shape))[::-1])


def _reversed(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    return ordered(o, shape, range(len(shape))[::-1])


def _matrix_turned(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    if not shape:
        return o["input"]
    if len(shape) < 2:
        raise Misfit(f"{written(shape)} is no matrix")
    return ordered(o, shape, [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2])


def _moved(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    source, destination = dims(o, shape, "source"), dims(o, shape, "destination")
    if len(source) != len(destination):
        raise Misfit(f"movedim: {len(source)} axes to {len(destination)} places")
    for each in (source, destination):
        if len(set(each)) < len(each):
            raise Misfit(f"movedim: {tuple(each)}: an axis stands twice")
    order = [place for place in range(len(shape)) if place not in source]
    for goal, place in sorted(zip(destination, source, strict=True)):
        order.insert(goal, place)
    return ordered(o, shape, order[: len(shape)])


def _raised(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    place = position(certain(o.integer("dim")), len(shape) + 1, shape)
    return made([*shape[:place], ONE, *shape[place:]], o.kind("input"))


def _squeezed(o: Operands) -> Value:
    """Axes of one element go, others stay."""
    shape = certain(o.shape("input"))
    places = dims(o, shape) if o.given("dim") else list(range(len(shape)))
    if len(set(places)) < len(places):
        raise Misfit(f"squeeze {tuple(places)}: an axis stands twice")
    places = [place for place in places if place < len(shape)]
    sizes = [shape[place] for place in places]
    if any(size is None or size.value is None for size in sizes):
        return UNKNOWN
    return made(outside(shape, [place for place in places if shape[place] == ONE]), o.kind("input"))


def _stretched(o: Operands) -> Value:
    shape, wanted = certain(o.shape("input")), certain(sizes_of(several(o["size"])))
    if len(shape) > len(wanted):
        raise Misfit(f"expand of {written(shape)} to {written(wanted)}: axes are added in front only, none goes")
    new = len(wanted) - len(shape)
    if _LEFT in wanted[:new]:
        raise Misfit(f"expand of {written(shape)} to {written(wanted)}: a new axis in front needs a size, not -1")
    result = [shape[place - new] if size == _LEFT else size for place, size in enumerate(wanted)]
    fits_into(shape, result, o.differ, "expand")
    return made(result, o.kind("input"))


def _stretched_as(o: Operands) -> Value:
    shape, target = certain(o.both("input", "other"))
    if len(shape) > len(target):
        raise Misfit(f"expand of {written(shape)} to {written(target)}: axes are added in front only, none goes")
    fits_into(shape, target, o.differ, "expand")
    return made(target, o.kind("input"))


def _tiled(*, least: bool) -> Rule:
    """``least``: a number for each axis, or more."""

    def rule(o: Operands) -> Value:
        shape, times = certain(o.shape("input")), certain(sizes_of(several(o["repeats"])))
        if least and len(times) < len(shape):
            raise Misfit(
                f"repeat {written(times)} of {written(shape)}: give a number for each of its {len(shape)} axes"
            )
        ones: Shape = [ONE] * max(len(shape), len(times))
        pairs = zip(ones[len(shape) :] + shape, ones[len(times) :] + times, strict=True)
        return made([None if x is None or y is None else x * y for x, y in pairs], o.kind("input"))

    return rule


def _repeated(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    if not o.given("dim"):
        shape, place = [total(shape)], 0
    else:
        place = dim(o, shape)
    times, counts = o["repeats"], o.shape("repeats")
    if isinstance(times, Number) and shape:
        size = shape[place]
        return made(replaced(shape, place, None if size is None else size * times.size), o.kind("input"))
    if counts is not None and len(counts) > 1:
        raise Misfit(f"repeat_interleave: the numbers have {len(counts)} axes")
    if counts and shape and counts[0] != ONE and not o.given("output_size"):
        message = f"repeat_interleave: {counts[0]} numbers for {shape[place]} elements"
        o.meet(shape[place], counts[0], message, times, 0)
    return made(replaced(shape, place, None)) if shape else UNKNOWN


def _rolled(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    if o.given("dims") and o["dims"] not in (Pack(()), Pack((), frozen=True)):
        if total(shape) == NONE:
            return o["input"]
        dims(o, shape, "dims")
        if not shape:
            raise Misfit("roll of a number: it has no axis")
    return made(shape, o.kind("input"))


def _flipped(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    axes = several(o["dims"])
    places = dims(Operands({"dims": axes}, o.differ), shape, "dims")
    if len(set(places)) < len(places):
        raise Misfit(f"flip {tuple(places)}: an axis stands twice")
    return made(shape, o.kind("input"))


def _kept(least: int) -> Rule:
    """The same shape; the array needs ``least`` axes."""

    def rule(o: Operands) -> Value:
        shape = certain(o.shape("input"))
        if len(shape) < least:
            raise Misfit(f"{written(shape)}: needs {number_of_axes(least)} at least")
        return o["input"] if isinstance(o["input"], Array) else made(shape)

    return rule


def _diagonal(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    first, second = dim(o, shape, "dim1"), dim(o, shape, "dim2")
    if first == second:
        raise Misfit(f"diagonal of {written(shape)}: the two axes must differ")
    size = diagonal(shape[first], shape[second], o.integer("offset"))
    return made([*outside(shape, [first, second]), size], o.kind("input"))


def _diag(o: Operands) -> Value:
    shape, offset = certain(o.shape("input")), o.integer("diagonal")
    if len(shape) not in (1, 2):
        raise Misfit(f"diag of {written(shape)}: needs 1 or 2 axes")
    if len(shape) == 2:
        return made([diagonal(shape[0], shape[1], offset)], o.kind("input"))
    size = None if shape[0] is None or offset is None else shape[0] + abs(offset)
    return made([size, size], o.kind("input"))


def _windows(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    place = dim(o, shape, "dimension")
    size, step = certain(o.integer("size")), certain(o.integer("step"))
    if not shape:
        return UNKNOWN
    before = shape[place]
    if before is not None and before.value is not None and size > before.value:
        raise Misfit(f"unfold: a window of {size} does not fit axis {place} of {written(shape)}")
    if step < 1:
        raise Misfit(f"unfold: a step of {step}")
    left = None if before is None else (before - size) // Dim.of(step) + 1
    return made([*replaced(shape, place, left), Dim.of(size)], o.kind("input"))


def _shape(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    sizes: list[Value] = [UNKNOWN if size is None else Number(size) for size in shape]
    if o.values.get("dim", Constant(None)) == Constant(None):
        return Pack(tuple(sizes), frozen=True)
    place = certain(o.integer("dim"))
    return sizes[position(place, len(shape), shape)]


def _rank(o: Operands) -> Value:
    return number(len(certain(o.shape("input"))))


def _count(o: Operands) -> Value:
    return Number(certain(total(certain(o.shape("input")))))


def _kind(o: Operands) -> Value:
    return DType(o.kind("input"))


TABLE: dict[str, Row] = {
    **named("reshape", "input, shape", _reshaped, method=False),
    **named("reshape view", "input, *shape", _reshaped, function=False),
    **named("view_as reshape_as", "input, other", _as_other, function=False),
    **named("flatten", "input, start_dim=0, end_dim=-1", _flattened),
    **named("ravel", "input", lambda o: made([total(certain(o.shape("input")))], o.kind("input"))),
    **named("unflatten", "input, dim, sizes", _unflattened),
    **named("permute", "input, dims", _permuted, method=False),
    **named("permute", "input, *dims", _permuted, function=False),
    **named("transpose swapdims", "input, dim0, dim1", _swapped),
    **named("swapaxes", "input, dim0, dim1", _swapped),
    **named("t", "input", _turned),
    "torch.Tensor.T": row("input", _reversed),
    "torch.Tensor.mT": row("input", _matrix_turned),
    "torch.Tensor.mH": row("input", _matrix_turned),
    **named("movedim moveaxis", "input, source, destination", _moved),
    **named("unsqueeze", "input, dim", _raised),
    **named("squeeze", "input, dim=None", _squeezed),
    **named("expand", "input, *size, implicit=False", _stretched, function=False),
    **named("expand_as", "input, other", _stretched_as, function=False),
    **named("broadcast_to", "input, size", _stretched),
    **named("repeat", "input, *repeats", _tiled(least=True), function=False),
    **named("tile", "input, repeats", _tiled(least=False), method=False),
    **named("tile", "input, *repeats", _tiled(least=False), function=False),
    **named("repeat_interleave", "input, repeats, dim=None, *, output_size=None", _repeated),
    **named("roll", "input, shifts, dims=None", _rolled),
    **named("flip", "input, dims", _flipped, method=False),
    **named("flip", "input, *dims", _flipped, function=False),
    **named("fliplr", "input", _kept(2)),
    **named("flipud", "input", _kept(1)),
    **named(
        "rot90", "input, k=1, dims=(0, 1)", borrowed(movement.TABLE["numpy.rot90"], "", a="input", axes="dims").rule
    ),
    **named("tril triu", "input, diagonal=0, *, out=None", _kept(2)),
    **named("tril_ triu_", "input, diagonal=0", _kept(2), function=False),
    **named("diagonal", "input, offset=0, dim1=0, dim2=1", _diagonal),
    **named("diag", "input, diagonal=0, *, out=None", _diag),
    **named("unfold", "input, dimension, size, step", _windows, function=False),
    **{
        f"torch.Tensor.{name}": row("input", rule)
        for name, rule in (("shape", _shape), ("ndim", _rank), ("dtype", _kind))
    },
    **named("size", "input, dim=None", _shape, function=False),
    **named("dim ndimension", "input", _rank, function=False),
    **named("numel nelement", "input", _count, function=False),
    **named("numel", "input", _count, method=False),
    **named("real", "input", like("input", dtypes.unknown), method=False),
}
