"""Functions that make arrays."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.rows import (
    Misfit,
    Operands,
    Row,
    Rule,
    broadcast,
    dtype_of,
    kind_of,
    made,
    shape_of,
    sizes_of,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Number, Pack, Value, integer_of
from typednn.shapes import Dim


def _new(default: str, shape: str = "shape") -> Rule:
    def rule(o: Operands) -> Value:
        wanted = dtype_of(o["dtype"]) if "dtype" in o.values else None
        sizes = sizes_of(o[shape])
        if sizes is None and o[shape] == Constant(None):
            sizes = []
        if sizes is not None and any(size is not None and size.value is not None and size.value < 0 for size in sizes):
            raise Misfit(f"no array has the shape {written(sizes)}")
        return made(sizes, default if wanted is None else wanted)

    return rule


def _full(o: Operands) -> Value:
    wanted = dtype_of(o["dtype"])
    return made(sizes_of(o["shape"]), dtypes.strong(o.kind("fill_value")) if wanted is None else wanted)


def _like(o: Operands) -> Value:
    wanted = dtype_of(o["dtype"])
    shape = sizes_of(o["shape"]) if o.given("shape") else o.shape("a")
    return made(shape, dtypes.strong(o.kind("a")) if wanted is None else wanted)


def _array(o: Operands) -> Value:
    wanted = dtype_of(o["dtype"]) if "dtype" in o.values else None
    return made(o.shape("a"), dtypes.strong(o.kind("a")) if wanted is None else wanted)


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
        return made([o["start"].size if isinstance(o["start"], Number) and ends[2] == Constant(None) else None], kind)
    if whole and numbers[0] is not None and numbers[1] is not None and (numbers[2] or ends[2] == Constant(None)):
        return made([Dim.of(len(range(numbers[0], numbers[1], numbers[2] or 1)))], kind)
    return made([None], kind)


def _linspace(o: Operands) -> Value:
    count, wanted = o["num"], dtype_of(o["dtype"])
    if o.shape("start") != [] or o.shape("stop") != [] or o.flag("retstep") is not False:
        return UNKNOWN
    return made([count.size if isinstance(count, Number) else None], "Float64" if wanted is None else wanted)


def _eye(o: Operands) -> Value:
    wanted = dtype_of(o["dtype"])
    rows, columns = o["N"], o["M"] if "M" in o.values and o.given("M") else o["N"]
    sizes = [each.size if isinstance(each, Number) else None for each in (rows, columns)]
    return made(sizes, "Float64" if wanted is None else wanted)


def _meshgrid(o: Operands) -> Value:
    values = o["xi"]
    if not isinstance(values, Pack):
        return UNKNOWN
    shapes = [shape_of(each, o.differ) for each in values.items]
    sizes = [None if each is None or len(each) != 1 else each[0] for each in shapes]
    match o["indexing"], o["sparse"]:
        case Constant(value="ij"), Constant(value=False):
            order = sizes
        case Constant(value="xy"), Constant(value=False):
            order = [sizes[1], sizes[0], *sizes[2:]] if len(sizes) > 1 else sizes
        case _:
            return UNKNOWN
    return Pack(tuple(made(order, dtypes.strong(kind_of(each))) for each in values.items), frozen=True)


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
    return made([shape[0] if offset == 0 and shape[0] is not None and shape[0] == shape[1] else None], kind)


def _permutation(o: Operands) -> Value:
    value = o["x"]
    return made([value.size], "Int64") if isinstance(value, Number) else made(o.shape("x"), o.kind("x"))


def _normal(o: Operands) -> Value:
    if o.given("size"):
        return _new("Float64", "size")(o)
    names = [name for name in ("loc", "scale", "low", "high") if name in o.values]
    return made(broadcast([o[name] for name in names], o.differ), "Float64")


def _tri(o: Operands) -> Value:
    return _eye(o)


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
    "numpy.ascontiguousarray": Row("a, dtype=None, *, like=None", _array),
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
    f"{_RANDOM}.integers()": Row("low, high=None, size=None, dtype=None, endpoint=False", _new("Int64", "size")),
    f"{_RANDOM}.permutation()": Row("x, axis=0", _permutation),
}
