"""Functions that make arrays."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.linear_algebra import diagonal
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    certain,
    fits_into,
    gathered,
    inserted,
    kind_of,
    made,
    sizes_of,
    total,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Number, Pack, Value, integer_of, number
from typednn.shapes import Dim


def asked(o: Operands, name: str) -> Shape | None:
    """A shape that an argument gives; none at all is that of a number."""
    sizes = [] if o[name] == Constant(None) else sizes_of(o[name])
    if sizes is not None and any((size.value or 0) < 0 for size in sizes if size is not None):
        raise Misfit(f"no array has the shape {written(sizes)}")
    return sizes


def _new(o: Operands) -> Value:
    return made(asked(o, "shape"), o.dtype("Float64"))


def _full(o: Operands) -> Value:
    sizes, value = asked(o, "shape"), o.shape("fill_value")
    if sizes is not None and value is not None:
        fits_into(value, sizes, o.differ, "full", ones=True)
    return made(sizes, o.dtype(o.kind("fill_value")))


def _like(o: Operands) -> Value:
    sizes = asked(o, "shape") if o.given("shape") else o.shape("a")
    value = o.shape("fill_value") if "fill_value" in o.values else None
    if sizes is not None and value is not None:
        fits_into(value, sizes, o.differ, "full", ones=True)
    return made(sizes, o.dtype(o.kind("a")))


def _array(least: int | None) -> Rule:
    """``least`` axes; None: as many as ``ndmin`` says."""

    def rule(o: Operands) -> Value:
        shape, rank = o.shape("a"), o.integer("ndmin") if least is None else least
        kind = o.dtype("Float64" if o["a"] in (Pack(()), Pack((), frozen=True)) else o.kind("a"))
        return made(None if shape is None or rank is None else [*[ONE] * (rank - len(shape)), *shape], kind)

    return rule


def _arange(o: Operands) -> Value:
    ends = [o["start"], o["stop"], o["step"]]
    whole = all(isinstance(each, Number) or each == Constant(None) for each in ends)
    kind = o.dtype("Int64" if whole else "Float64" if any(kind_of(each) == dtypes.WEAK_FLOAT for each in ends) else "")
    start, stop = (number(0), ends[0]) if ends[1] == Constant(None) else ends[:2]
    first, last = integer_of(start), integer_of(stop)
    step = 1 if ends[2] == Constant(None) else integer_of(ends[2])
    size = None
    if first is not None and last is not None and step:
        size = Dim.of(len(range(first, last, step)))
    elif isinstance(start, Number) and isinstance(stop, Number) and step == 1:
        size = stop.size - start.size
    return made([size], kind)


def _linspace(o: Operands) -> Value:
    count, shape, axis = o["num"], o.broadcast("start", "stop"), o.integer("axis")
    if (integer_of(count) or 0) < 0:
        raise Misfit(f"{integer_of(count)} numbers: give 0 or more")
    if shape is None or axis is None or o.values.get("retstep", Constant(False)) != Constant(False):
        return UNKNOWN
    kind = dtypes.strong(dtypes.promoted(dtypes.WEAK_FLOAT, o.kind("start"), o.kind("stop")))
    return made(inserted(shape, axis, count.size if isinstance(count, Number) else None), o.dtype(kind))


def _eye(o: Operands) -> Value:
    rows, columns = o["N"], o["M"] if "M" in o.values and o.given("M") else o["N"]
    sizes = [each.size if isinstance(each, Number) else None for each in (rows, columns)]
    return made(sizes, o.dtype("Float64"))


def _identity(o: Operands) -> Value:
    size = asked(o, "N")
    return made(size and size * 2, o.dtype("Float64"))


def _vander(o: Operands) -> Value:
    shape, columns = certain(o.shape("x")), o["N"]
    if len(shape) != 1:
        raise Misfit(f"vander of {written(shape)}: needs one axis")
    return made(
        [shape[0], shape[0] if columns == Constant(None) else columns.size if isinstance(columns, Number) else None]
    )


def _indices(o: Operands) -> Value:
    if o.flag("sparse") is not False:
        return UNKNOWN
    sizes = certain(asked(o, "dimensions"))
    return made([Dim.of(len(sizes)), *sizes], o.dtype("Int64"))


def _meshgrid(o: Operands) -> Value:
    (values, shapes), sparse, indexing = gathered(o, "xi"), certain(o.flag("sparse")), o["indexing"]
    if not isinstance(indexing, Constant):
        return UNKNOWN
    sizes = [total(each) for each in shapes]
    order = list(range(len(sizes)))
    if indexing.value == "xy" and len(sizes) > 1:
        order[:2] = 1, 0
    return Pack(
        tuple(
            made([sizes[each] if each == place or not sparse else ONE for each in order], kind_of(value))
            for place, value in enumerate(values)
        ),
        frozen=True,
    )


def _diag(o: Operands) -> Value:
    shape, offset = certain(o.shape("v")), o.integer("k")
    if len(shape) not in (1, 2):
        raise Misfit(f"diag of {written(shape)}: needs 1 or 2 axes")
    if len(shape) == 2:
        return made([diagonal(shape[0], shape[1], offset)], o.kind("v"))
    size = None if shape[0] is None or offset is None else shape[0] + abs(offset)
    return made([size, size], o.kind("v"))


def _diagonal_matrix(o: Operands) -> Value:
    shape, offset = o.shape("v"), o.integer("k")
    elements = None if shape is None else total(shape)
    size = None if elements is None or offset is None else elements + abs(offset)
    return made([size, size], o.kind("v"))


_LIKE = "a, dtype=None, order='K', subok=True, shape=None, *, device=None"
_NEW = "shape, dtype=None, order='C', *, device=None, like=None"
_ARRAY = "a, dtype=None, order=None, *, device=None, copy=None, like=None"

TABLE: dict[str, Row] = {
    **{f"numpy.{name}": Row(_NEW, _new) for name in ("zeros", "ones", "empty")},
    "numpy.full": Row("shape, fill_value, dtype=None, order='C', *, device=None, like=None", _full),
    **{f"numpy.{name}_like": Row(_LIKE, _like) for name in ("zeros", "ones", "empty")},
    "numpy.full_like": Row("a, fill_value, dtype=None, order='K', subok=True, shape=None, *, device=None", _like),
    "numpy.array": Row("a, dtype=None, *, copy=True, order='K', subok=False, ndmin=0, like=None", _array(None)),
    **{f"numpy.{name}": Row(_ARRAY, _array(0)) for name in ("asarray", "asanyarray")},
    "numpy.asarray_chkfinite": Row("a, dtype=None, order=None", _array(0)),
    "numpy.ascontiguousarray": Row("a, dtype=None, *, like=None", _array(1)),
    "numpy.arange": Row("start=None, stop=None, step=None, dtype=None, *, device=None, like=None", _arange),
    "numpy.linspace": Row(
        "start, stop, num=50, endpoint=True, retstep=False, dtype=None, axis=0, *, device=None", _linspace
    ),
    "numpy.logspace": Row("start, stop, num=50, endpoint=True, base=10.0, dtype=None, axis=0", _linspace),
    "numpy.geomspace": Row("start, stop, num=50, endpoint=True, dtype=None, axis=0", _linspace),
    "numpy.eye": Row("N, M=None, k=0, dtype=None, order='C', *, device=None, like=None", _eye),
    "numpy.identity": Row("N, dtype=None, *, like=None", _identity),
    "numpy.tri": Row("N, M=None, k=0, dtype=None, *, like=None", _eye),
    "numpy.vander": Row("x, N=None, increasing=False", _vander),
    "numpy.indices": Row("dimensions, dtype=None, sparse=False", _indices),
    "numpy.meshgrid": Row("*xi, copy=True, sparse=False, indexing='xy'", _meshgrid),
    **{f"numpy.{name}": Row("v, k=0", rule) for name, rule in (("diag", _diag), ("diagflat", _diagonal_matrix))},
}
