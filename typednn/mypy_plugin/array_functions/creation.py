"""Functions that make arrays."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.products import diagonal_size
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    broadcast,
    dtype_of,
    fits_into,
    kind_of,
    made,
    new_shape,
    shape_of,
    total,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Number, Pack, Value, integer_of, number
from typednn.shapes import Dim


def _new(default: str, shape: str = "shape") -> Rule:
    def rule(o: Operands) -> Value:
        wanted = dtype_of(o["dtype"]) if "dtype" in o.values else None
        sizes = [] if o[shape] == Constant(None) else new_shape(o[shape])
        return made(sizes, default if wanted is None else wanted)

    return rule


def _full(o: Operands) -> Value:
    shape, value, wanted = new_shape(o["shape"]), o.shape("fill_value"), dtype_of(o["dtype"])
    if shape is not None and value is not None:
        fits_into(value, shape, o.differ, "fill value", drops=True)
    return made(shape, dtypes.strong(o.kind("fill_value")) if wanted is None else wanted)


def _like(o: Operands) -> Value:
    wanted = dtype_of(o["dtype"])
    shape = new_shape(o["shape"]) if o.given("shape") else o.shape("a")
    value = o.shape("fill_value") if "fill_value" in o.values else None
    if shape is not None and value is not None:
        fits_into(value, shape, o.differ, "fill value", drops=True)
    return made(shape, dtypes.strong(o.kind("a")) if wanted is None else wanted)


def _array(o: Operands) -> Value:
    wanted = dtype_of(o["dtype"])
    shape, least = o.shape("a"), o.integer("ndmin") if "ndmin" in o.values else 0
    if shape is not None:
        shape = None if least is None else [*[ONE] * (least - len(shape)), *shape]
    return made(shape, dtypes.strong(o.kind("a")) if wanted is None else wanted)


def _arange(o: Operands) -> Value:
    wanted = dtype_of(o["dtype"])
    ends = [o["start"], o["stop"], o["step"]]
    numbers = [integer_of(each) for each in ends]
    whole = all(isinstance(each, Number) or each == Constant(None) for each in ends)
    kind = (
        wanted
        if wanted is not None
        else "Int64"
        if whole
        else "Float64"
        if any(kind_of(each) == dtypes.WEAK_FLOAT for each in ends)
        else ""
    )
    if ends[1] == Constant(None):
        ends, numbers = [number(0), ends[0], ends[2]], [0, numbers[0], numbers[2]]
    if whole and numbers[0] is not None and numbers[1] is not None and (numbers[2] or ends[2] == Constant(None)):
        return made([Dim.of(len(range(numbers[0], numbers[1], numbers[2] or 1)))], kind)
    plain = ends[2] == Constant(None) and isinstance(ends[0], Number) and isinstance(ends[1], Number)
    size = ends[1].size - ends[0].size if plain and isinstance(ends[0], Number) and isinstance(ends[1], Number) else None
    return made([size if numbers[0] == 0 or (size is not None and (size.value or 0) > 0) else None], kind)


def _linspace(o: Operands) -> Value:
    shape, sizes, wanted = o.broadcast("start", "stop"), new_shape(o["num"]), dtype_of(o["dtype"])
    kind = "Float64" if wanted is None and not {o.kind("start"), o.kind("stop")} & {"Float16", "Float32", ""} else wanted or ""
    if shape is None or o.flag("retstep") is not False:
        return UNKNOWN
    place = o.axis("axis", len(shape) + 1)
    return UNKNOWN if place is None else made([*shape[:place], sizes[0] if sizes else None, *shape[place:]], kind)


def _eye(o: Operands) -> Value:
    wanted = dtype_of(o["dtype"])
    rows, columns = o["N"], o["M"] if "M" in o.values and o.given("M") else o["N"]
    return made(new_shape(Pack((rows, columns))), "Float64" if wanted is None else wanted)


def _meshgrid(o: Operands) -> Value:
    values = o["xi"]
    if not isinstance(values, Pack):
        return UNKNOWN
    shapes = [shape_of(each, o.differ) for each in values.items]
    sizes = [None if each is None else total(each) for each in shapes]
    order = list(range(len(sizes)))
    match o["indexing"]:
        case Constant(value="ij"):
            pass
        case Constant(value="xy"):
            order[:2] = order[1::-1] if len(order) > 1 else order
        case _:
            return UNKNOWN
    sparse = o.flag("sparse")
    if sparse is None:
        return UNKNOWN
    return Pack(
        tuple(
            made([ONE if sparse and place != own else sizes[place] for place in order], dtypes.strong(kind_of(each)))
            for own, each in enumerate(values.items)
        ),
        frozen=True,
    )


def _diag(o: Operands) -> Value:
    shape, offset = o.shape("v"), o.integer("k")
    if shape is None:
        return UNKNOWN
    if len(shape) not in (1, 2):
        raise Misfit(f"diag of {written(shape)}: needs 1 or 2 axes")
    kind = dtypes.strong(o.kind("v"))
    if len(shape) == 1:
        size = None if shape[0] is None or offset is None else shape[0] + abs(offset)
        return made([size, size], kind)
    return made([diagonal_size(shape[0], shape[1], offset)], kind)


def _permutation(o: Operands) -> Value:
    value, shape = o["x"], o.shape("x")
    if isinstance(value, Number):
        return made([value.size], "Int64")
    if shape is not None:
        o.axis("axis", len(shape), shape)
    return made(shape, dtypes.strong(o.kind("x")))


def _normal(o: Operands) -> Value:
    names = [name for name in ("loc", "scale", "low", "high") if o.values.get(name, Constant(None)) != Constant(None)]
    own, wanted = broadcast([o[name] for name in names], o.differ), dtype_of(o["dtype"]) if "dtype" in o.values else None
    kind = "Float64" if "dtype" not in o.values else "Int64" if wanted is None else wanted
    if not o.given("size"):
        return made(own, kind)
    shape = new_shape(o["size"])
    if own is not None and shape is not None and "dtype" not in o.values:  # integers() takes more
        fits_into(own, shape, o.differ, "size")
    return made(shape, kind)


def _tri(o: Operands) -> Value:
    rows, columns, wanted = o["N"], o["M"] if o.given("M") else o["N"], dtype_of(o["dtype"])
    sizes = [each.size if isinstance(each, Number) else None for each in (rows, columns)]
    least = [Dim.of(0) if size is not None and size.value is not None and size.value < 0 else size for size in sizes]
    return made(least, "Float64" if wanted is None else wanted)


_LIKE = "a, dtype=None, order='K', subok=True, shape=None, *, device=None"
_NEW = "shape, dtype=None, order='C', *, device=None, like=None"
_ARRAY = "a, dtype=None, order=None, *, device=None, copy=None, like=None"
_RANDOM = "numpy.random._generator.Generator"

TABLE: dict[str, Row] = {
    **{f"numpy.{name}": Row(_NEW, _new("Float64")) for name in ("zeros", "ones", "empty")},
    "numpy.full": Row("shape, fill_value, dtype=None, order='C', *, device=None, like=None", _full),
    **{f"numpy.{name}_like": Row(_LIKE, _like) for name in ("zeros", "ones", "empty")},
    "numpy.full_like": Row("a, fill_value, dtype=None, order='K', subok=True, shape=None, *, device=None", _like),
    "numpy.array": Row("a, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, like=None", _array),
    **{f"numpy.{name}": Row(_ARRAY, _array) for name in ("asarray", "asanyarray", "asarray_chkfinite")},
    "numpy.ascontiguousarray": Row("a, dtype=None, *, like=None, ndmin=1", _array),
    "numpy.arange": Row("start=None, stop=None, step=None, dtype=None, *, device=None, like=None", _arange),
    "numpy.linspace": Row("start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None", _linspace),
    "numpy.eye": Row("N, M=None, k=0, dtype=None, order='C', *, device=None, like=None", _eye),
    "numpy.identity": Row("N, dtype=None, *, like=None", _eye),
    "numpy.tri": Row("N, M=None, k=0, dtype=None, *, like=None", _tri),
    "numpy.meshgrid": Row("*xi, copy=True, sparse=False, indexing='xy'", _meshgrid),
    "numpy.diag": Row("v, k=0", _diag),
    f"{_RANDOM}.standard_normal()": Row("size=None, dtype=None, out=None", _new("Float64", "size")),
    f"{_RANDOM}.random()": Row("size=None, dtype=None, out=None", _new("Float64", "size")),
    f"{_RANDOM}.normal()": Row("loc=0.0, scale=1.0, size=None", _normal),
    f"{_RANDOM}.uniform()": Row("low=0.0, high=1.0, size=None", _normal),
    f"{_RANDOM}.integers()": Row("low, high=None, size=None, dtype=None, endpoint=False", _normal),
    f"{_RANDOM}.permutation()": Row("x, axis=0", _permutation),
}
