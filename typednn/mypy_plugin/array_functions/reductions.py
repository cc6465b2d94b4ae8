"""Functions along axes: sums, means, extremes, running sums, sorting."""

from __future__ import annotations

from collections.abc import Callable

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.elementwise import into
from typednn.mypy_plugin.array_functions.rows import ONE, Misfit, Operands, Row, Rule, dtype_of, made, total, written
from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value
from typednn.shapes import Dim

Kind = Callable[[str], str]


def _kept(kind: str) -> str:
    return dtypes.strong(kind)


def _boolean(kind: str) -> str:
    return "Bool"


def _index(kind: str) -> str:
    return "Int64"


def _reduction(kind: Kind, *, empty: bool = True, single: bool = False) -> Rule:
    """``empty``: an axis of no elements can be reduced; ``single``: along one axis, or all elements."""

    def rule(o: Operands) -> Value:
        shape = o.shape("a")
        wanted = dtype_of(o.values["dtype"]) if "dtype" in o.values else None
        result = kind(o.kind("a")) if wanted is None else wanted
        if shape is None:
            return made(None, result)
        axes = o.axes("axis", len(shape), shape)
        keeps = o.flag("keepdims") if "keepdims" in o.values else False
        if single and isinstance(o["axis"], Pack):
            return UNKNOWN
        if axes is None or keeps is None:
            return into(o, None, result)
        sizes = [shape[place] for place in axes]
        if (
            not empty
            and any(size is not None and size.value == 0 for size in sizes)
            and o.values.get("initial", Constant(None)) == Constant(None)
        ):
            raise Misfit(f"an axis of no elements has no extreme: axis {tuple(axes)} of {written(shape)}")
        after = [ONE if place in axes else size for place, size in enumerate(shape) if keeps or place not in axes]
        return into(o, after, result, exactly=True)

    return rule


def _running(o: Operands) -> Value:
    shape, wanted = o.shape("a"), dtype_of(o["dtype"])
    kind = dtypes.summed(o.kind("a")) if wanted is None else wanted
    if shape is None:
        return made(None, kind)
    if not o.given("axis"):
        return made([total(shape)], kind)
    return UNKNOWN if o.axis("axis", len(shape), shape) is None else into(o, shape, kind, exactly=True)


def _along(kind: Kind) -> Rule:
    def rule(o: Operands) -> Value:
        shape = o.shape("a")
        if shape is None:
            return made(None, kind(o.kind("a")))
        if not o.given("axis"):
            return made([total(shape)], kind(o.kind("a")))
        return UNKNOWN if o.axis("axis", len(shape), shape) is None else made(shape, kind(o.kind("a")))

    return rule


def _differences(o: Operands) -> Value:
    shape, times = o.shape("a"), o.integer("n")
    if times == 0:
        return made(shape, dtypes.strong(o.kind("a")))
    place = None if shape is None else o.axis("axis", len(shape), shape)
    if times is not None and times < 0:
        raise Misfit(f"diff: n is {times}, it must be 0 or more")
    if shape is None or place is None or times is None or o.given("prepend") or o.given("append"):
        return UNKNOWN
    size = shape[place]
    less = None if size is None else size - times
    if less is not None and less.value is not None and less.value < 0:
        less = Dim.of(0)
    if less is not None and less.value is None:
        less = less if times == 0 else None if size is None or size.value is not None else less
    return made([*shape[:place], less, *shape[place + 1 :]], "" if dtypes.family(o.kind("a")) == "Bool" else o.kind("a"))


def _norm(o: Operands) -> Value:
    kind, keeps = dtypes.deviating(o.kind("x")), o.flag("keepdims")
    if not o.given("axis") and not o.given("ord") and keeps is False:
        return made([], kind)
    shape = o.shape("x")
    axes = None if shape is None else o.axes("axis", len(shape), shape)
    if shape is None or axes is None or keeps is None:
        return UNKNOWN
    if len(axes) not in (1, 2) and (o.given("axis") or (o.given("ord") and o["ord"] is not UNKNOWN)):
        raise Misfit(f"norm of {written(shape)} over {len(axes)} axes: a norm is of a vector or of a matrix; give axis")
    return made([ONE if place in axes else size for place, size in enumerate(shape) if keeps or place not in axes], kind)


def _quantile(o: Operands) -> Value:
    shape, q = o.shape("a"), o.shape("q")
    axes = None if shape is None else o.axes("axis", len(shape), shape)
    keeps = o.flag("keepdims")
    if shape is None or axes is None or keeps is None or q is None:
        return UNKNOWN
    return made([*q, *(ONE if place in axes else size for place, size in enumerate(shape) if keeps or place not in axes)])


def _bincount(o: Operands) -> Value:
    shape = o.shape("x")
    if shape is not None and len(shape) != 1:
        raise Misfit(f"bincount counts along one axis, got {len(shape)} axes")
    return made([None], "" if o.given("weights") else "Int64")


_SUM = "a, axis=None, dtype=None, out=None, keepdims=False, initial=None, where=True"
_MEAN = "a, axis=None, dtype=None, out=None, keepdims=False, *, where=True"
_EXTREME = "a, axis=None, out=None, keepdims=False, initial=None, where=True"
_TEST = "a, axis=None, out=None, keepdims=False, *, where=True"
_VARIANCE = "a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, mean=None, correction=None"

_ROWS: dict[str, Row] = {
    "sum": Row(_SUM, _reduction(dtypes.summed)),
    "prod": Row(_SUM, _reduction(dtypes.summed)),
    "mean": Row(_MEAN, _reduction(dtypes.averaged)),
    "std": Row(_VARIANCE, _reduction(dtypes.deviating)),
    "var": Row(_VARIANCE, _reduction(dtypes.deviating)),
    "max": Row(_EXTREME, _reduction(_kept, empty=False)),
    "min": Row(_EXTREME, _reduction(_kept, empty=False)),
    "any": Row(_TEST, _reduction(_boolean)),
    "all": Row(_TEST, _reduction(_boolean)),
    "argmax": Row("a, axis=None, out=None, *, keepdims=False", _reduction(_index, empty=False, single=True)),
    "argmin": Row("a, axis=None, out=None, *, keepdims=False", _reduction(_index, empty=False, single=True)),
    "cumsum": Row("a, axis=None, dtype=None, out=None", _running),
    "cumprod": Row("a, axis=None, dtype=None, out=None", _running),
}

TABLE: dict[str, Row] = {
    **{f"numpy.{name}": row for name, row in _ROWS.items()},
    **{f"Array.{name}()": row for name, row in _ROWS.items()},
    "numpy.amax": _ROWS["max"],
    "numpy.amin": _ROWS["min"],
    **{f"numpy.nan{name}": _ROWS[name] for name in ("sum", "prod", "mean", "std", "var")},
    **{f"numpy.nan{name}": Row(_EXTREME, _reduction(_kept, empty=False)) for name in ("max", "min")},
    "numpy.median": Row("a, axis=None, out=None, overwrite_input=False, keepdims=False", _reduction(dtypes.averaged)),
    "numpy.count_nonzero": Row("a, axis=None, *, keepdims=False", _reduction(_index)),
    "numpy.ptp": Row("a, axis=None, out=None, keepdims=False", _reduction(_kept, empty=False)),
    "numpy.average": Row("a, axis=None, weights=None, returned=False, *, keepdims=False", lambda o: _average(o)),
    "numpy.sort": Row("a, axis=-1, kind=None, order=None, *, stable=None", _along(_kept)),
    "numpy.argsort": Row("a, axis=-1, kind=None, order=None, *, stable=None", _along(_index)),
    "Array.argsort()": Row("a, axis=-1, kind=None, order=None, *, stable=None", _along(_index)),
    "numpy.partition": Row("a, kth, axis=-1, kind='introselect', order=None", _along(_kept)),
    "numpy.argpartition": Row("a, kth, axis=-1, kind='introselect', order=None", _along(_index)),
    "numpy.diff": Row("a, n=1, axis=-1, prepend=None, append=None", _differences),
    "numpy.linalg.norm": Row("x, ord=None, axis=None, keepdims=False", _norm),
    "numpy.bincount": Row("x, /, weights=None, minlength=0", _bincount),
    **dict.fromkeys(
        ("numpy.quantile", "numpy.percentile"),
        Row("a, q, axis=None, out=None, overwrite_input=False, method='linear', keepdims=False", _quantile),
    ),
}


def _average(o: Operands) -> Value:
    if o.given("weights") or o.flag("returned") is not False:
        return UNKNOWN
    return _reduction(dtypes.averaged)(o)
