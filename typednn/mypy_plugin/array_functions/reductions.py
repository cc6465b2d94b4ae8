"""Functions along axes: sums, means, extremes, running sums, sorting."""

from __future__ import annotations

from collections.abc import Sequence

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Kind,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    certain,
    fits_into,
    into,
    made,
    matrix,
    replaced,
    total,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Number, Pack, Value
from typednn.shapes import Dim


def _left(shape: Shape, axes: Sequence[int], *, keeps: bool) -> Shape:
    return [ONE if place in axes else size for place, size in enumerate(shape) if keeps or place not in axes]


def _reduction(kind: Kind, *, empty: bool = True, single: bool = False) -> Rule:
    """``empty``: an axis of no elements can be reduced; ``single``: along one axis, or all elements."""

    def rule(o: Operands) -> Value:
        result, mask = o.dtype(kind(o.kind("a"))), o.values.get("where", Constant(True))
        shape = certain(None if single and isinstance(o["axis"], Pack) else o.shape("a"), result)
        considered = o.shape("where") if mask != Constant(True) else None
        if considered is not None:
            fits_into(considered, shape, o.differ, "where")
        axes, keeps = certain(o.reduced(shape), result), certain(o.flag("keepdims"), result)
        after = _left(shape, axes, keeps=keeps)
        started = o.values.get("initial", Constant(None)) != Constant(None)
        if not empty and not started and any(shape[place] == Dim.of(0) for place in axes):
            raise Misfit(f"{written(shape)}: an axis of no elements has no extreme")
        return into(o, after, result)

    return rule


def _running(kind: Kind) -> Rule:
    """Along one axis, or over all elements; a number counts as an axis of one element."""

    def rule(o: Operands) -> Value:
        result = o.dtype(kind(o.kind("a")))
        shape, place = o.along(certain(o.shape("a"), result), number=True)
        return into(o, None if place is None else shape, result)

    return rule


def _sorted(o: Operands) -> Value:
    shape, place = o.along(certain(o.shape("a"), o.kind("a")))
    return made(None if place is None else shape, o.kind("a"))


def _differences(o: Operands) -> Value:
    shape, times = o.shape("a"), o.integer("n")
    if times == 0:
        return o["a"]
    shape = certain(shape)
    place = certain(o.axis("axis", shape))
    if times is None or times < 0 or o.given("prepend") or o.given("append"):
        return UNKNOWN
    size = shape[place]
    less = None if size is None else size - times
    if less is not None and (less.value or 0) < 0:
        less = Dim.of(0)
    return made(replaced(shape, place, less), o.kind("a"))


def _norm(o: Operands) -> Value:
    shape, keeps = certain(o.shape("x")), certain(o.flag("keepdims"))
    axes = certain(o.axes("axis", shape))
    if (o.given("ord") or o.given("axis")) and len(axes) not in (1, 2):
        raise Misfit(f"norm of {written(shape)} over {len(axes)} axes: a vector has 1, a matrix 2")
    return made(_left(shape, axes, keeps=keeps), _spread(o.kind("x")))


def _vector_norm(o: Operands) -> Value:
    shape = certain(o.shape("x"))
    axes = certain(o.axes("axis", shape))
    return made(_left(shape, axes, keeps=certain(o.flag("keepdims"))), _spread(o.kind("x")))


def _matrix_norm(o: Operands) -> Value:
    keeps, shape = certain(o.flag("keepdims")), certain(matrix(o, "x", "matrix_norm"))
    return made(_left(shape, [len(shape) - 2, len(shape) - 1], keeps=keeps), _spread(o.kind("x")))


def _quantile(o: Operands) -> Value:
    shape, q = o.shape("a"), o.shape("q")
    shape = certain(shape)
    axes = certain(o.reduced(shape))
    left = _left(shape, axes, keeps=certain(o.flag("keepdims")))
    return into(o, [*certain(q), *left], "", stretched=True, deeper=True)


def _average(o: Operands) -> Value:
    return UNKNOWN if o.given("weights") or o.flag("returned") is not False else _reduction(dtypes.quotient)(o)


def _spread(kind: str) -> str:
    return dtypes.real(dtypes.quotient(kind))


def _bincount(o: Operands) -> Value:
    shape = o.shape("x")
    if shape is not None and len(shape) != 1:
        raise Misfit(f"bincount counts along one axis, got {len(shape)} axes")
    return made([None], "" if o.given("weights") else "Int64")


def _consecutive(o: Operands) -> Value:
    shape = o.shape("a")
    elements = None if shape is None else total(shape)
    less = None if elements is None else elements - 1
    return made([Dim.of(0) if less == Dim.of(-1) else less])


def _histogram(o: Operands) -> Value:
    bins, edges = o["bins"], o.shape("bins")
    if isinstance(bins, Number):
        ends: Dim | None = bins.size + 1
    elif edges is not None and len(edges) == 1:
        ends = edges[0]
    else:
        return UNKNOWN
    counts = made([None if ends is None else ends - 1], "" if o.given("weights") or o.given("density") else "Int64")
    return Pack((counts, made([ends])), frozen=True)


def _gradient(o: Operands) -> Value:
    shape = certain(o.shape("f"))
    axes = certain(o.axes("axis", shape))
    if any(size is not None and size.value in (0, 1) for place, size in enumerate(shape) if place in axes):
        raise Misfit(f"gradient of {written(shape)}: needs two elements or more along each axis")
    result = made(shape, "Float64" if dtypes.family(dtypes.strong(o.kind("f"))) in ("Int", "UInt") else o.kind("f"))
    return result if len(axes) == 1 else Pack((result,) * len(axes), frozen=True)


def _trapezoid(o: Operands) -> Value:
    shape = certain(o.shape("y"))
    place = certain(o.axis("axis", shape))
    return UNKNOWN if o.given("x") else made(replaced(shape, place))


def _covariance(o: Operands) -> Value:
    shape = certain(o.shape("m"))
    if o.given("y"):
        return UNKNOWN
    if len(shape) > 2:
        raise Misfit(f"cov of {written(shape)}: needs a matrix, 2 axes at most")
    rows = o.flag("rowvar")
    size = certain(ONE if len(shape) < 2 else None if rows is None else shape[0] if rows else shape[1])
    return made([] if size.value == 1 else [size, size])


_FURTHER = "dtype=None, out=None, keepdims=False, initial=None, where=True"
_SUM = f"a, axis=None, {_FURTHER}"
_UFUNCS: dict[str, tuple[Kind, bool]] = {
    "add": (dtypes.summed, True),
    "multiply": (dtypes.summed, True),
    "maximum": (dtypes.same, False),
    "minimum": (dtypes.same, False),
    "logical_and": (dtypes.boolean, True),
    "logical_or": (dtypes.boolean, True),
}
_MEAN = "a, axis=None, dtype=None, out=None, keepdims=False, *, where=True"
_EXTREME = "a, axis=None, out=None, keepdims=False, initial=None, where=True"
_TEST = "a, axis=None, out=None, keepdims=False, *, where=True"
_VARIANCE = "a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None"

_MEDIAN = "a, axis=None, *, overwrite_input=False, keepdims=False"  # out may have a wrong shape

_ROWS: dict[str, Row] = {
    "sum": Row(_SUM, _reduction(dtypes.summed)),
    "prod": Row(_SUM, _reduction(dtypes.summed)),
    "mean": Row(_MEAN, _reduction(dtypes.quotient)),
    "std": Row(_VARIANCE, _reduction(_spread)),
    "var": Row(_VARIANCE, _reduction(_spread)),
    "max": Row(_EXTREME, _reduction(dtypes.same, empty=False)),
    "min": Row(_EXTREME, _reduction(dtypes.same, empty=False)),
    "any": Row(_TEST, _reduction(dtypes.boolean)),
    "all": Row(_TEST, _reduction(dtypes.boolean)),
    "argmax": Row("a, axis=None, out=None, *, keepdims=False", _reduction(dtypes.index, empty=False, single=True)),
    "argmin": Row("a, axis=None, out=None, *, keepdims=False", _reduction(dtypes.index, empty=False, single=True)),
    "cumsum": Row("a, axis=None, dtype=None, out=None", _running(dtypes.summed)),
    "cumprod": Row("a, axis=None, dtype=None, out=None", _running(dtypes.summed)),
}

TABLE: dict[str, Row] = {
    **{f"numpy.{name}": row for name, row in _ROWS.items()},
    **{f"Array.{name}()": row for name, row in _ROWS.items()},
    **{f"numpy.nan{name}": _ROWS[name] for name in ("argmax", "argmin", "cumsum", "cumprod")},
    "numpy.amax": _ROWS["max"],
    "numpy.amin": _ROWS["min"],
    **{f"numpy.nan{name}": _ROWS[name] for name in ("sum", "prod", "mean", "std", "var")},
    **{f"numpy.nan{name}": Row(_EXTREME, _reduction(dtypes.same, empty=False)) for name in ("max", "min")},
    **dict.fromkeys(("numpy.median", "numpy.nanmedian"), Row(_MEDIAN, _reduction(dtypes.quotient))),
    "numpy.count_nonzero": Row("a, axis=None, *, keepdims=False", _reduction(dtypes.index)),
    "numpy.ptp": Row("a, axis=None, out=None, keepdims=False", _reduction(dtypes.same, empty=False)),
    "numpy.average": Row("a, axis=None, weights=None, returned=False, *, keepdims=False", _average),
    "numpy.sort": Row("a, axis=-1, kind=None, order=None, *, stable=None", _sorted),
    "numpy.argsort": Row("a, axis=-1, kind=None, order=None, *, stable=None", _running(dtypes.index)),
    "Array.argsort()": Row("a, axis=-1, kind=None, order=None, *, stable=None", _running(dtypes.index)),
    "numpy.partition": Row("a, kth, axis=-1, kind='introselect', order=None", _sorted),
    "numpy.argpartition": Row("a, kth, axis=-1, kind='introselect', order=None", _running(dtypes.index)),
    "numpy.diff": Row("a, n=1, axis=-1, prepend=None, append=None", _differences),
    "numpy.linalg.norm": Row("x, ord=None, axis=None, keepdims=False", _norm),
    "numpy.linalg.vector_norm": Row("x, /, *, axis=None, keepdims=False, ord=2", _vector_norm),
    "numpy.linalg.matrix_norm": Row("x, /, *, keepdims=False, ord='fro'", _matrix_norm),
    "numpy.histogram": Row("a, bins=10, range=None, density=None, weights=None", _histogram),
    "numpy.gradient": Row("f, *varargs, axis=None, edge_order=1", _gradient),
    "numpy.trapezoid": Row("y, x=None, dx=1.0, axis=-1", _trapezoid),
    "numpy.cov": Row(
        "m, y=None, rowvar=True, bias=False, ddof=None, fweights=None, aweights=None, *, dtype=None", _covariance
    ),
    "numpy.ediff1d": Row("a", _consecutive),
    **{
        f"numpy.{name}.reduce": Row(f"a, axis=0, {_FURTHER}", _reduction(kind, empty=empty))
        for name, (kind, empty) in _UFUNCS.items()
    },
    **{
        f"numpy.{name}.accumulate": Row("a, axis=0, dtype=None, out=None", _running(kind))
        for name, (kind, _) in _UFUNCS.items()
    },
    "numpy.bincount": Row("x, /, weights=None, minlength=0", _bincount),
    **dict.fromkeys(
        ("numpy.quantile", "numpy.percentile"),
        Row("a, q, axis=None, out=None, overwrite_input=False, method='linear', keepdims=False", _quantile),
    ),
}
