"""Functions that move, add, drop or repeat axes and elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.joining import at_least
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    broadcast,
    certain,
    fits_into,
    gathered,
    kind_of,
    like,
    made,
    outside,
    position,
    replaced,
    share,
    sizes_of,
    total,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, DType, Many, Number, Pack, Value, integer_of, number
from typednn.shapes import Dim, number_of_axes, same


def _ordered(o: Operands, shape: Shape, order: Sequence[int]) -> Value:
    """The axes in another order; each keeps where its size comes from."""
    value = o["a"]
    if isinstance(value, Array) and value.flow.axes is not None:
        return replace(
            value, flow=replace(value.flow, axes=tuple(value.flow.axes[place] for place in order), untouched=False)
        )
    return made([shape[place] for place in order], o.kind("a"))


def _transpose(o: Operands) -> Value:
    shape, axes = certain(o.shape("a")), o["axes"]
    if axes == Constant(None):
        return _ordered(o, shape, range(len(shape))[::-1])
    places = [integer_of(each) for each in axes.items] if isinstance(axes, Pack) else [None]
    known = [position(each, len(shape), shape) for each in places if each is not None]
    if len(places) != len(shape) and None not in places:
        raise Misfit(f"transpose {tuple(places)} of {written(shape)}: give each of its {len(shape)} axes once")
    if len(set(known)) < len(known):
        raise Misfit(f"transpose {tuple(places)} of {written(shape)}: an axis stands twice; give each axis once")
    return _ordered(o, shape, known) if len(known) == len(places) == len(shape) else UNKNOWN


def _transpose_method(o: Operands) -> Value:
    """``x.transpose()``, ``x.transpose(1, 0)``, ``x.transpose((1, 0))``."""
    axes = o["axes"]
    if isinstance(axes, Pack) and len(axes.items) < 2:
        inner = axes.items[0] if axes.items else Constant(None)
        axes = inner if isinstance(inner, Pack | Constant) else axes
    return _transpose(Operands({"a": o["a"], "axes": axes}, o.differ))


def _matrix_transpose(o: Operands) -> Value:
    shape = certain(o.shape("a"))
    if len(shape) < 2:
        raise Misfit(f"{written(shape)} is no matrix")
    return _ordered(o, shape, [*range(len(shape) - 2), len(shape) - 1, len(shape) - 2])


def _swapped(o: Operands) -> Value:
    shape = certain(o.shape("a"))
    first, second = map(certain, (o.axis("axis1", shape), o.axis("axis2", shape)))
    order = list(range(len(shape)))
    order[first], order[second] = second, first
    return _ordered(o, shape, order)


def _moved(o: Operands) -> Value:
    shape = certain(o.shape("a"))
    source, destination = map(certain, (o.axes("source", shape), o.axes("destination", shape)))
    if len(source) != len(destination):
        raise Misfit(f"moveaxis: {len(source)} axes to {len(destination)} places")
    order = [place for place in range(len(shape)) if place not in source]
    for goal, place in sorted(zip(destination, source, strict=True)):
        order.insert(goal, place)
    return _ordered(o, shape, order)


def _reshaped(o: Operands) -> Value:
    shape, given = o.shape("a"), o["shape"]
    if isinstance(given, Pack) and len(given.items) == 1 and isinstance(given.items[0], Pack):
        given = given.items[0]
    if given == Pack((UNKNOWN,), frozen=True):
        given = UNKNOWN  # a number, or a tuple
    kind = o.kind("a")
    wanted = certain(sizes_of(given), kind)
    left = [place for place, size in enumerate(wanted) if size == Dim.of(-1)]
    if shape is None:
        return made([None if place in left else size for place, size in enumerate(wanted)], kind)
    elements = total(shape)
    if not left:
        return made(_same_number(o, shape, wanted, elements), kind)
    if len(left) > 1:
        raise Misfit(f"reshape of {written(shape)}: only one size can be -1")
    return made(replaced(wanted, left[0], _rest(shape, wanted, elements, total(outside(wanted, left)))), kind)


def _same_number(o: Operands, shape: Shape, wanted: Shape, elements: Dim | None) -> Shape:
    needed = total(wanted)
    unknown = [place for place, size in enumerate(wanted) if size is None]
    if len(unknown) == 1:  # the one size that is not known
        return replaced(wanted, unknown[0], share(elements, total(outside(wanted, unknown))))
    if elements is None or needed is None or same(elements, needed):
        return wanted
    if (elements.value is not None and needed.value is not None) or o.differ(elements, needed):
        raise Misfit(f"reshape of {written(shape)} to {written(wanted)}: {elements} elements into {needed}", o["a"])
    return wanted


def _rest(shape: Shape, wanted: Shape, elements: Dim | None, others: Dim | None) -> Dim | None:
    """The size that -1 stands for."""
    if elements is None or others is None:
        return None
    what, size = f"reshape of {written(shape)} to {written(wanted)}", share(elements, others)
    if not others.terms:
        raise Misfit(f"{what}: -1 beside an axis of no elements")
    if size is None and elements.value is not None and others.value is not None:
        raise Misfit(f"{what}: {elements} elements are no multiple of {others}")
    return size


def _flat(o: Operands) -> Value:
    return made([total(certain(o.shape("a")))], o.kind("a"))


def _expanded(o: Operands) -> Value:
    shape, axis = certain(o.shape("a")), o["axis"]
    rank = len(shape) + (len(axis.items) if isinstance(axis, Pack) else 1)
    places, rest = certain(o.axes("axis", [], rank)), iter(shape)
    return made([ONE if place in places else next(rest) for place in range(rank)], o.kind("a"))


def _squeezed(o: Operands) -> Value:
    shape, kind = certain(o.shape("a")), o.kind("a")
    if not o.given("axis"):
        known = all(size is not None and size.value is not None for size in shape)
        return made([size for size in shape if size != ONE] if known else None, kind)
    places = certain(o.reduced(shape))
    for place in places:
        size = shape[place]
        if size is not None and (size.value not in (None, 1) or o.differ(size, ONE)):
            raise Misfit(
                f"squeeze of axis {place} of {written(shape)}: it has {size} elements, only an axis of one can go",
                o["a"],
                place,
            )
    return made(outside(shape, places), kind)


def _kept(least: int = 0) -> Rule:
    """The same shape; the array needs ``least`` axes."""

    def rule(o: Operands) -> Value:
        shape = certain(o.shape("a"))
        if len(shape) < least:
            raise Misfit(f"{written(shape)}: needs {number_of_axes(least)}")
        if "axis" in o.values:
            o.axes("axis", shape)
        return o["a"] if isinstance(o["a"], Array) else made(shape, o.kind("a"))

    return rule


def _rolled(o: Operands) -> Value:
    shape = certain(o.shape("a"))
    o.places("axis", shape)
    return made(shape, o.kind("a"))


def _triangle(o: Operands) -> Value:
    shape = certain(o.shape("a"))
    if not shape:
        raise Misfit("a number has no triangle")
    if len(shape) > 1 and isinstance(o["a"], Array):
        return o["a"]
    return made(shape * 2 if len(shape) == 1 else shape, o.kind("a"))


def _turned(o: Operands) -> Value:
    shape, times = certain(o.shape("a")), o.integer("k")
    places = certain(o.axes("axes", shape) if isinstance(o["axes"], Pack) else None)
    if len(places) != 2:
        raise Misfit(f"rot90 over {len(places)} axes: needs two")
    if times is None:
        return made([None if place in places else size for place, size in enumerate(shape)], o.kind("a"))
    order = list(range(len(shape)))
    if times % 2:
        order[places[0]], order[places[1]] = places[1], places[0]
    return _ordered(o, shape, order)


def _repeated(o: Operands) -> Value:
    shape, place = o.along(certain(o.shape("a")), number=True)
    place = certain(place)
    return made(replaced(shape, place, _times(o, shape[place])), o.kind("a"))


def _times(o: Operands, size: Dim | None) -> Dim | None:
    """How many elements there are after each is repeated."""
    times, counts = o["repeats"], o.shape("repeats")
    if isinstance(times, Number):
        return size * times.size if size is not None else None
    if counts is not None and len(counts) > 1:
        raise Misfit(f"repeat: the numbers have {len(counts)} axes")
    given = counts[0] if counts else None
    if given is None or size is None:
        return None
    numbers = [integer_of(each) for each in times.items] if isinstance(times, Pack) else [None]
    known = [each for each in numbers if each is not None]
    if given.value == 1:
        return size * known[0] if known else None
    if (given.value is not None and size.value is not None and given.value != size.value) or o.differ(given, size):
        raise Misfit(f"repeat: {given} numbers for {size} elements", times)
    return Dim.of(sum(known)) if len(known) == len(numbers) == size.value else None


def _tiled(o: Operands) -> Value:
    shape, times = certain(o.shape("a")), certain(sizes_of(o["reps"]))
    rank = max(len(shape), len(times))
    ones: Shape = [ONE] * rank
    pairs = zip(ones[len(shape) :] + shape, ones[len(times) :] + times, strict=True)
    return made([None if x is None or y is None else x * y for x, y in pairs], o.kind("a"))


def _broadcast_to(o: Operands) -> Value:
    shape, wanted = o.shape("a"), sizes_of(o["shape"])
    if shape is not None and wanted is not None:
        if len(shape) > len(wanted):
            raise Misfit(f"broadcast of {written(shape)} to {written(wanted)}: axes are added in front only, none goes")
        fits_into(shape, wanted, o.differ, "broadcast")
    return made(wanted, o.kind("a"))


def _broadcast_arrays(o: Operands) -> Value:
    values = o["args"]
    if not isinstance(values, Pack):
        return UNKNOWN
    shape = broadcast(values.items, o.differ)
    return Pack(tuple(made(shape, kind_of(each)) for each in values.items), frozen=True)


def _padded(o: Operands) -> Value:
    shape = certain(o.shape("a"))
    pairs = _pairs(o["pad_width"], len(shape)) or [None] * len(shape)
    sizes = [None if size is None or pair is None else size + pair for size, pair in zip(shape, pairs, strict=True)]
    return made(sizes, o.kind("a"))


def _pairs(widths: Value, rank: int) -> Shape | None:
    """What is added to each axis."""
    match widths:
        case Number() | Pack(items=[Number()] | [Number(), Number()]):
            return [_added(widths)] * rank
        case Pack(items=items) if all(isinstance(each, Pack) for each in items):
            if len(items) not in (1, rank):
                raise Misfit(f"pad: {len(items)} pairs for {rank} axes; give one pair for each axis")
            added = [_added(each) for each in items]
            return added * rank if len(items) == 1 and rank != 1 else added
        case _:
            return None


def _added(pair: Value) -> Dim | None:
    match pair:
        case Pack(items=(Number(size=a), Number(size=b))):
            return a + b
        case Number(size=a) | Pack(items=[Number(size=a)]):
            return a * 2
        case _:
            return None


def _at_least(rank: int) -> Row:
    def rule(o: Operands) -> Value:
        pairs = zip(*gathered(o, "arys"), strict=True)
        results = [made(at_least(shape, rank), kind_of(value)) for value, shape in pairs]
        return results[0] if len(results) == 1 else Pack(tuple(results), frozen=True)

    return Row("*arys", rule)


def _attribute(name: str) -> Row:
    def rule(o: Operands) -> Value:
        shape = o.shape("a")
        if name == "dtype":
            return DType(o.kind("a"))
        shape = certain(shape)
        if name == "ndim":
            return number(len(shape))
        if name == "size":
            return Number(certain(total(shape)))
        return Pack(tuple(UNKNOWN if size is None else Number(size) for size in shape), frozen=True)

    return Row("a", rule)


def _astype(o: Operands) -> Value:
    kind = o.dtype("")
    return replace(o["a"], kind=kind) if isinstance(o["a"], Array) else made(o.shape("a"), kind)


def _windows(o: Operands) -> Value:
    shape, window = certain(o.shape("x")), certain(sizes_of(o["window_shape"]))
    axes = certain(o.places("axis", shape) if o.given("axis") else list(range(len(shape))))
    if len(axes) != len(window):
        raise Misfit(f"sliding_window_view: {len(window)} window sizes for {len(axes)} axes")
    result = list(shape)
    for place, size in zip(axes, window, strict=True):
        before = result[place]
        left = None if before is None or size is None else before - size + 1
        if left is not None and left.value is not None and left.value < 1:
            raise Misfit(f"sliding_window_view: a window of {size} does not fit axis {place} of {written(shape)}")
        result[place] = left
    return made([*result, *window], o.kind("x"))


def _resized(o: Operands) -> Value:
    return made(sizes_of(o["new_shape"]), o.kind("a"))


def _rolled_axis(o: Operands) -> Value:
    shape, start = certain(o.shape("a")), o.integer("start")
    place, start = certain(o.axis("axis", shape)), certain(start)
    goal = position(start, len(shape) + 1, shape) if start >= 0 else position(start, len(shape), shape)
    order = [each for each in range(len(shape)) if each != place]
    order.insert(goal - (place < goal), place)
    return _ordered(o, shape, order)


def _unstacked(o: Operands) -> Value:
    shape = certain(o.shape("x"))
    if not shape:
        raise Misfit("unstack of a number: it has no axis")
    place = certain(o.axis("axis", shape))
    part, size = made(replaced(shape, place), o.kind("x")), shape[place]
    count = None if size is None else size.value
    return Pack((part,) * count, frozen=True) if count is not None and count <= 64 else Many(part)


def _strided(o: Operands) -> Value:
    return made(sizes_of(o["shape"]) if o.given("shape") else o.shape("x"), o.kind("x"))


TABLE: dict[str, Row] = {
    "numpy.transpose": Row("a, axes=None", _transpose),
    "numpy.permute_dims": Row("a, axes=None", _transpose),
    "Array.transpose()": Row("a, *axes", _transpose_method),
    "Array.T": Row("a, axes=None", _transpose),
    "Array.mT": Row("a", _matrix_transpose),
    "numpy.matrix_transpose": Row("a, /", _matrix_transpose),
    "numpy.swapaxes": Row("a, axis1, axis2", _swapped),
    "Array.swapaxes()": Row("a, axis1, axis2", _swapped),
    "numpy.moveaxis": Row("a, source, destination", _moved),
    "numpy.reshape": Row("a, shape, order='C', *, copy=None", _reshaped),
    "Array.reshape()": Row("a, *shape, order='C', copy=None", _reshaped),
    "numpy.ravel": Row("a, order='C'", _flat),
    "Array.ravel()": Row("a, order='C'", _flat),
    "Array.flatten()": Row("a, order='C'", _flat),
    "numpy.expand_dims": Row("a, axis", _expanded),
    "numpy.squeeze": Row("a, axis=None", _squeezed),
    "Array.squeeze()": Row("a, axis=None", _squeezed),
    "numpy.flip": Row("a, axis=None", _kept()),
    "numpy.flipud": Row("a", _kept(1)),
    "numpy.fliplr": Row("a", _kept(2)),
    "numpy.roll": Row("a, shift, axis=None", _rolled),
    "numpy.rollaxis": Row("a, axis, start=0", _rolled_axis),
    "numpy.resize": Row("a, new_shape", _resized),
    "numpy.unstack": Row("x, /, *, axis=0", _unstacked),
    "numpy.rot90": Row("a, k=1, axes=(0, 1)", _turned),
    "numpy.repeat": Row("a, repeats, axis=None", _repeated),
    "Array.repeat()": Row("a, repeats, axis=None", _repeated),
    "numpy.tile": Row("a, reps", _tiled),
    "numpy.broadcast_to": Row("a, shape, subok=False", _broadcast_to),
    "numpy.broadcast_arrays": Row("*args, subok=False", _broadcast_arrays),
    "numpy.pad": Row(
        "a, pad_width, mode='constant', *, constant_values=0, reflect_type='even', stat_length=None, end_values=0",
        _padded,
    ),
    "numpy.atleast_1d": _at_least(1),
    "numpy.atleast_2d": _at_least(2),
    "numpy.atleast_3d": _at_least(3),
    **{f"Array.{name}": _attribute(name) for name in ("shape", "ndim", "size", "dtype")},
    "numpy.shape": _attribute("shape"),
    "numpy.ndim": _attribute("ndim"),
    **{f"Array.{name}": Row("a", like("a", dtypes.real)) for name in ("real", "imag")},
    "numpy.size": Row("a", _attribute("size").rule),
    "Array.copy()": Row("a, order='C'", _kept()),
    "numpy.copy": Row("a, order='K', subok=False", _kept()),
    "Array.astype()": Row("a, dtype, order='K', casting='unsafe', subok=True, copy=True", _astype),
    "numpy.tril": Row("a, k=0", _triangle),
    "numpy.triu": Row("a, k=0", _triangle),
    "numpy.lib.stride_tricks.sliding_window_view": Row(
        "x, window_shape, axis=None, *, subok=False, writeable=False", _windows
    ),
    "numpy.lib.stride_tricks.as_strided": Row(
        "x, shape=None, strides=None, subok=False, writeable=True, *, check_bounds=None", _strided
    ),
}
