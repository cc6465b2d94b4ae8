"""Functions that join arrays, take one apart, or take and put elements by their places."""

from __future__ import annotations

from collections.abc import Sequence

from typednn.mypy_plugin.array_functions import joining, movement
from typednn.mypy_plugin.array_functions.rows import (
    NONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    borrowed,
    broadcast,
    certain,
    gathered,
    inserted,
    kind_of,
    made,
    outside,
    replaced,
    shape_of,
    share,
    total,
    written,
)
from typednn.mypy_plugin.array_functions.torch_functions.arguments import dim, named, row
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Many, Number, Pack, Value, integer_of
from typednn.shapes import Dim

_MOST = 64  # parts that are followed one by one


def _joined(o: Operands) -> Value:
    """``torch.cat``; it leaves out arrays of the shape (0,)."""
    values, shapes = gathered(o, "tensors")
    if not values:
        raise Misfit("cat: needs at least one array")
    if any(not each for each in shapes):
        raise Misfit("cat: a number has no axis; write stack, or give each an axis")
    pairs = [(value, shape) for value, shape in zip(values, shapes, strict=True) if shape != [NONE]]
    if any(len(shape) == 1 and (shape[0] is None or shape[0].value is None) for _, shape in pairs) and any(
        len(shape) > 1 for _, shape in pairs
    ):
        return UNKNOWN  # it may have no elements
    if not pairs:
        return made([NONE], kind_of(values[0]))
    kept = Pack(tuple(value for value, _ in pairs), frozen=True)
    given = {"arrays": kept, "axis": o["dim"], "out": Constant(None), "dtype": Constant(None)}
    return joining.TABLE["numpy.concatenate"].rule(Operands(given, o.differ))


def _under(name: str, parameter: str) -> Rule:
    """NumPy's function of a tuple of arrays."""
    return borrowed(joining.TABLE[f"numpy.{name}"], "", **{parameter: "tensors"}, axis="dim").rule


def _chunks(o: Operands) -> Value:
    """Parts of one size, the last of them smaller; there may be fewer than asked for."""
    shape, count = certain(o.shape("input")), integer_of(o["chunks"])
    place = dim(o, shape)
    if not shape:
        raise Misfit("chunk of a number: it has no axis")
    if count is None:
        return Many(made(replaced(shape, place, None), o.kind("input")))
    if count < 1:
        raise Misfit(f"chunk into {count}: give at least 1")
    size = shape[place]
    if size is not None and size.value is not None:
        return _pieces(o, shape, place, size.value, -(-size.value // count), count)
    equal = share(size, Dim.of(count))
    part = made(replaced(shape, place, equal), o.kind("input"))
    return (
        Pack((part,) * count, frozen=True)
        if equal is not None and count <= _MOST
        else Many(made(replaced(shape, place, None), o.kind("input")))
    )


def _pieces(o: Operands, shape: Shape, place: int, size: int, each: int, count: int) -> Value:
    sizes = [0] * count if each == 0 else [min(each, size - start) for start in range(0, size, each)]
    if len(sizes) > _MOST:
        return Many(made(replaced(shape, place, None), o.kind("input")))
    return _parts(o, shape, place, [Dim.of(part) for part in sizes])


def _parts(o: Operands, shape: Shape, place: int, sizes: Sequence[Dim | None]) -> Value:
    return Pack(tuple(made(replaced(shape, place, size), o.kind("input")) for size in sizes), frozen=True)


def _split(o: Operands) -> Value:
    """Into parts of one size, or of several sizes that must make up the axis."""
    shape, given = certain(o.shape("input")), o["split_size_or_sections"]
    place = dim(o, shape)
    if not shape:
        raise Misfit("split of a number: it has no axis")
    size = shape[place]
    if isinstance(given, Pack):
        sizes = [each.size if isinstance(each, Number) else None for each in given.items]
        whole = None if None in sizes else sum((each for each in sizes if each is not None), start=NONE)
        message = f"split of axis {place} of {written(shape)} into {written(sizes)}: {whole} of {size} elements"
        o.meet(size, whole, message, o["input"], place)
        return _parts(o, shape, place, sizes)
    each = integer_of(given)
    if each is None or size is None or size.value is None:
        parts = size.value if size is not None else None
        count = share(size, given.size) if isinstance(given, Number) and parts is None else None
        if count is not None and count.value is not None and count.value <= _MOST and isinstance(given, Number):
            return _parts(o, shape, place, [given.size] * count.value)
        return Many(made(replaced(shape, place, None), o.kind("input")))
    if each < 0 or (each == 0 and size.value):
        raise Misfit(f"split into parts of {each}")
    return _parts(o, shape, place, [size]) if size.value == 0 else _pieces(o, shape, place, size.value, each, 0)


def _taken(o: Operands) -> Value:
    """``gather``: the shape of the index, which no other axis may exceed."""
    shape, index = certain(o.both("input", "index"))
    place = dim(o, shape)
    _within(o, "gather", shape, index, place)
    return made(index, o.kind("input"))


def _within(o: Operands, what: str, shape: Shape, index: Shape, place: int | None) -> None:
    if total(index) == NONE:
        return
    if max(1, len(shape)) != max(1, len(index)):
        raise Misfit(f"{what}: the index {written(index)} needs as many axes as {written(shape)}", o["index"])
    one = [Dim.of(1)]
    for axis, (size, wanted) in enumerate(zip(shape or one, index or one, strict=True)):
        has, asks = (None if each is None else each.value for each in (size, wanted))
        if axis != place and has is not None and asks is not None and asks > has:
            raise Misfit(f"{what}: axis {axis} of the index {written(index)} is {wanted}, of {written(shape)} {size}")


def _put(o: Operands) -> Value:
    """``scatter``: the shape stays."""
    shape, index = o.shape("input"), o.shape("index")
    if shape is None or index is None:
        return o["input"]
    place = dim(o, shape)
    if total(index) != NONE:
        _within(o, "scatter", shape, index, place)
        source = o.shape("src") if isinstance(o["src"], Array) else None
        if source is not None:
            _within(o, "scatter", source, index, None)
    return made(shape, o.kind("input"))


def _put_in_place(o: Operands) -> Value:
    _put(o)
    return o["input"]


def _selected(o: Operands) -> Value:
    shape, index = certain(o.both("input", "index"))
    place = dim(o, shape)
    if len(index) > 1:
        raise Misfit(f"index_select: the index has {len(index)} axes, it needs one")
    if not shape:
        return UNKNOWN
    return made(replaced(shape, place, index[0] if index else Dim.of(1)), o.kind("input"))


def _one(o: Operands) -> Value:
    """``select``: one of an axis."""
    shape, index = certain(o.shape("input")), o.integer("index")
    if not shape:
        raise Misfit("select of a number: it has no axis")
    place = dim(o, shape)
    size = shape[place]
    if index is not None and size is not None and size.value is not None and not -size.value <= index < size.value:
        raise Misfit(f"select {index} of axis {place} of {written(shape)}: it has {size} elements")
    return made(outside(shape, [place]), o.kind("input"))


def _narrowed(o: Operands) -> Value:
    shape, length = certain(o.shape("input")), o["length"]
    if not shape:
        raise Misfit("narrow of a number: it has no axis")
    place = dim(o, shape)
    size, start, wanted = shape[place], o.integer("start"), integer_of(length)
    if size is not None and size.value is not None and wanted is not None and start is not None:
        first = start + size.value if start < 0 else start
        if wanted < 0 or not 0 <= first <= size.value or first + wanted > size.value:
            raise Misfit(f"narrow: {wanted} from {start} of axis {place} of {written(shape)}, which has {size}")
    return made(replaced(shape, place, length.size if isinstance(length, Number) else None), o.kind("input"))


def _along_dim(o: Operands) -> Value:
    shape, index = certain(o.both("input", "indices"))
    if not o.given("dim"):
        return made([total(index)], o.kind("input"))
    if len(shape) != len(index):
        raise Misfit(f"take_along_dim: {written(index)} needs as many axes as {written(shape)}", o["indices"])
    place = dim(o, shape)
    if not shape:
        return UNKNOWN
    one = Dim.of(1)
    common = certain(broadcast([made(replaced(shape, place, one)), made(replaced(index, place, one))], o.differ))
    return made(replaced(common, place, index[place]), o.kind("input"))


def _masked(o: Operands) -> Value:
    certain(broadcast([o["input"], o["mask"]], o.differ))
    return made([None], o.kind("input"))


def _grid(o: Operands) -> Value:
    tensors = o["tensors"]
    if isinstance(tensors, Pack) and len(tensors.items) == 1 and isinstance(tensors.items[0], Pack):
        tensors = tensors.items[0]
    indexing = o["indexing"]
    if not isinstance(tensors, Pack) or not isinstance(indexing, Constant):
        return UNKNOWN
    shapes = [certain(shape_of(each, o.differ)) for each in tensors.items]
    if any(len(each) > 1 for each in shapes):
        raise Misfit(f"meshgrid: {written(next(each for each in shapes if len(each) > 1))} has several axes")
    sizes = [total(each) for each in shapes]
    if indexing.value == "xy" and len(sizes) > 1:
        sizes[:2] = sizes[1], sizes[0]
    return Pack(tuple(made(sizes, kind_of(each)) for each in tensors.items), frozen=True)


def _listed(o: Operands) -> Value:
    """The places of what is not zero."""
    if o["as_tuple"] != Constant(False):
        return UNKNOWN
    return made([None, Dim.of(len(certain(o.shape("input"))))], "Int64")


def _unstacked(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    dim(o, shape)
    given = {"x": o["input"], "axis": o["dim"]}
    return movement.TABLE["numpy.unstack"].rule(Operands(given, o.differ))


def _stacked(o: Operands) -> Value:
    values = o["tensors"]
    if isinstance(values, Many):
        shape = certain(shape_of(values.item, o.differ))
        return made(inserted(shape, certain(o.integer("dim")), None), kind_of(values.item))
    return _under("stack", "arrays")(o)


_SPLIT = "input, indices_or_sections, dim=0"
_SCATTER = "input, dim, index, src=None, *, value=None, reduce=None"
_REDUCED = "input, dim, index, src, reduce, *, include_self=True"
TABLE: dict[str, Row] = {
    **named("cat concat concatenate", "tensors, dim=0, *, out=None", _joined, method=False),
    **named("stack", "tensors, dim=0, *, out=None", _stacked, method=False),
    **named("hstack", "tensors, *, out=None", _under("hstack", "tup"), method=False),
    **named("vstack row_stack", "tensors, *, out=None", _under("vstack", "tup"), method=False),
    **named("dstack", "tensors, *, out=None", _under("dstack", "tup"), method=False),
    **named("column_stack", "tensors, *, out=None", _under("column_stack", "tup"), method=False),
    **named("chunk", "input, chunks, dim=0", _chunks),
    "torch.split": row("input, split_size_or_sections, dim=0", _split),
    "torch.Tensor.split()": Row("input, split_size, dim=0", lambda o: _split(_named_so(o)), {"axis": "dim"}),
    **named("tensor_split", _SPLIT, borrowed(joining.TABLE["numpy.array_split"], "", ary="input", axis="dim").rule),
    **named("unbind", "input, dim=0", _unstacked),
    **named("gather", "input, dim, index, *, sparse_grad=False, out=None", _taken),
    **named("scatter scatter_add", _SCATTER, _put),
    **named("scatter_ scatter_add_", _SCATTER, _put_in_place, function=False),
    **named("scatter_reduce", f"{_REDUCED}, out=None", _put),
    **named("scatter_reduce_", _REDUCED, _put_in_place, function=False),
    **named("index_select", "input, dim, index, *, out=None", _selected),
    **named("select", "input, dim, index", _one),
    **named("narrow", "input, dim, start, length", _narrowed),
    **named("take_along_dim", "input, indices, dim=None, *, out=None", _along_dim),
    **named("take", "input, index", lambda o: made(o.shape("index"), o.kind("input"))),
    **named("masked_select", "input, mask, *, out=None", _masked),
    **named("nonzero argwhere", "input, *, as_tuple=False, out=None", _listed),
    **named("meshgrid", "*tensors, indexing='ij'", _grid, method=False),
    **named("atleast_1d", "*arys", movement.TABLE["numpy.atleast_1d"].rule, method=False),
    **named("atleast_2d", "*arys", movement.TABLE["numpy.atleast_2d"].rule, method=False),
}


def _named_so(o: Operands) -> Operands:
    """The method has another name for its argument."""
    return Operands({**o.values, "split_size_or_sections": o["split_size"]}, o.differ)
