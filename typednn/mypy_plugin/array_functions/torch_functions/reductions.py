"""Functions along axes: sums, extremes and their places, sorting."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import dtypes, reductions
from typednn.mypy_plugin.array_functions.rows import (
    NONE,
    ONE,
    Kind,
    Misfit,
    Operands,
    Row,
    Rule,
    Shape,
    broadcast,
    certain,
    made,
    replaced,
    total,
    written,
)
from typednn.mypy_plugin.array_functions.torch_functions.arguments import dim, named, reduced
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, Number, Pack, Value, integer_of
from typednn.shapes import Dim


def pair(values: Value, shape: Shape | None, names: tuple[str, str] = ("values", "indices")) -> Value:
    """Values and their places, by name too."""
    return Pack((values, made(shape, "Int64")), frozen=True, fields=names)


def _left(o: Operands, shape: Shape, axes: list[int]) -> Shape:
    keeps = certain(o.flag("keepdim"))
    return [ONE if place in axes else size for place, size in enumerate(shape) if keeps or place not in axes]


def _reduction(kind: Kind = dtypes.unknown, *, empty: bool = True) -> Rule:
    """``empty``: an axis of no elements can be reduced."""

    def rule(o: Operands) -> Value:
        shape = certain(o.shape("input"), kind(""))
        axes = reduced(o, shape)
        if len(set(axes)) < len(axes):
            raise Misfit(f"dim {tuple(axes)}: an axis stands twice")
        if not empty:
            _has_elements(shape, axes)
        return made(_left(o, shape, axes), kind(""))

    return rule


def _has_elements(shape: Shape, axes: list[int]) -> None:
    if any(place < len(shape) and shape[place] == Dim.of(0) for place in axes):
        raise Misfit(f"{written(shape)}: an axis of no elements has no extreme")


def _spread(o: Operands) -> Value:
    """``x.std(dim)``, but ``x.std(False)`` is one number, without a correction."""
    given = o["dim"]
    flag = isinstance(given, Constant) and isinstance(given.value, bool)
    return _reduction()(Operands({**o.values, "dim": Constant(None)}, o.differ) if flag else o)


def _spread_and_mean(o: Operands) -> Value:
    value = _spread(o)
    return Pack((value, value), frozen=True)


def _along(o: Operands) -> Value:
    """The shape stays."""
    shape = certain(o.shape("input"))
    dim(o, shape)
    return made(shape)


def _places(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    dim(o, shape)
    return made(shape, "Int64")


def _extremes_so_far(o: Operands) -> Value:
    """Nothing is looked at where there are no elements."""
    shape = certain(o.shape("input"))
    return pair(made(shape, o.kind("input")), shape) if total(shape) == NONE else _sorted(o)


def _sorted(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    dim(o, shape)
    return pair(made(shape, o.kind("input")), shape)


def _largest(o: Operands) -> Value:
    shape, count = certain(o.shape("input")), o["k"]
    place = dim(o, shape)
    if not shape:
        return UNKNOWN
    size, wanted = shape[place], count.size if isinstance(count, Number) else None
    if (
        size is not None
        and wanted is not None
        and None not in (size.value, wanted.value)
        and ((wanted.value or 0) > (size.value or 0) or (wanted.value or 0) < 0)
    ):
        raise Misfit(f"topk: {wanted} of axis {place} of {written(shape)}, which has {size}", o["input"], place)
    left = replaced(shape, place, wanted)
    return pair(made(left, o.kind("input")), left)


def _one_of(*, counted: bool = False) -> Rule:
    """The values along one axis, and where they are; ``counted``: the k-th of them."""

    def rule(o: Operands) -> Value:
        shape = certain(o.shape("input"))
        place = dim(o, shape)
        _has_elements(shape, [place])
        size, wanted = (shape[place] if shape else ONE), integer_of(o["k"]) if counted else None
        if wanted is not None and size is not None and size.value is not None and not 1 <= wanted <= size.value:
            raise Misfit(f"kthvalue: number {wanted} of axis {place} of {written(shape)}, which has {size}")
        left = _left(o, shape, [place])
        return pair(made(left, o.kind("input")), left)

    return rule


def _extreme(*, empty: bool = False) -> Rule:
    """``x.max()`` is a number, ``x.max(dim)`` a pair, ``x.max(y)`` element by element."""

    def rule(o: Operands) -> Value:
        second = o["dim"]
        if isinstance(o.values.get("other", Constant(None)), Array):
            second = o["other"]
        if isinstance(second, Array):
            return made(broadcast([o["input"], second], o.differ))
        if second == Constant(None):
            shape = o.shape("input")
            if shape is not None and not empty:
                _has_elements(shape, list(range(len(shape))))
            return made([], o.kind("input"))
        return _one_of()(o) if integer_of(second) is not None else UNKNOWN

    return rule


def _quantile(o: Operands) -> Value:
    shape, q = certain(o.shape("input")), certain(o.shape("q"))
    if len(q) > 1:
        raise Misfit(f"quantile: q has {len(q)} axes")
    axes = reduced(o, shape)
    _has_elements(shape, list(range(len(shape))))
    return made([*q, *_left(o, shape, axes)])


def _differences(o: Operands) -> Value:
    if o.shape("input") == []:
        raise Misfit("diff of a number: it has no axis")
    given = {**o.values, "a": o["input"], "axis": o["dim"]}
    return reductions.TABLE["numpy.diff"].rule(Operands(given, o.differ))


def _norm(o: Operands) -> Value:
    return UNKNOWN if o["p"] == Constant("nuc") else _reduction()(o)


def _counted(o: Operands) -> Value:
    shape = o.shape("input")
    if shape is not None and len(shape) > 1:
        raise Misfit(f"bincount counts along one axis, got {len(shape)} axes")
    return made([None], "" if o.given("weights") else "Int64")


def _both_extremes(o: Operands) -> Value:
    shape = certain(o.shape("input"))
    if o.given("dim"):
        place = dim(o, shape)
        _has_elements(shape, [place])
        left = made(_left(o, shape, [place]), o.kind("input"))
    else:
        return UNKNOWN
    return Pack((left, left), frozen=True, fields=("min", "max"))


_SUM = "input, dim=None, keepdim=False, *, dtype=None, out=None"
_SPREAD = "input, dim=None, unbiased=True, keepdim=False, *, correction=1, out=None"
TABLE: dict[str, Row] = {
    **named("sum nansum mean nanmean", _SUM, _reduction()),
    **named("prod", _SUM, _reduction()),
    **named("std var", _SPREAD, _spread),
    **named("std_mean var_mean", _SPREAD, _spread_and_mean, method=False),
    **named("amax amin", "input, dim=(), keepdim=False, *, out=None", _reduction(empty=False)),
    **named("argmax argmin", "input, dim=None, keepdim=False, *, out=None", _reduction(dtypes.index, empty=False)),
    **named("all any", "input, dim=None, keepdim=False, *, out=None", _reduction(dtypes.boolean)),
    **named("logsumexp", "input, dim, keepdim=False, *, out=None", _reduction()),
    **named("count_nonzero", "input, dim=None, *, keepdim=False", _reduction(dtypes.index)),
    **named("norm", "input, p='fro', dim=None, keepdim=False, out=None, dtype=None", _norm, method=False),
    **named("norm", "input, p='fro', dim=None, keepdim=False, dtype=None", _norm, function=False),
    **named("cumsum cumprod", "input, dim, *, dtype=None, out=None", _along),
    **named("logcumsumexp", "input, dim, *, out=None", _along),
    **named("softmax log_softmax", "input, dim, dtype=None", _along),
    **named("cumsum_ cumprod_", "input, dim, *, dtype=None", _along, function=False),
    **named("cummax cummin", "input, dim, *, out=None", _extremes_so_far),
    **named("sort", "input, dim=-1, descending=False, *, stable=None, out=None", _sorted),
    **named("argsort", "input, dim=-1, descending=False, *, stable=False, out=None", _places),
    **named("topk", "input, k, dim=-1, largest=True, sorted=True, *, out=None", _largest),
    **named("kthvalue", "input, k, dim=-1, keepdim=False, *, out=None", _one_of(counted=True)),
    **named("mode", "input, dim=-1, keepdim=False, *, out=None", _one_of()),
    **named("max min", "input, dim=None, keepdim=False, *, other=None, out=None", _extreme()),
    **named("median nanmedian", "input, dim=None, keepdim=False, *, out=None", _extreme(empty=True)),
    **named("aminmax", "input, *, dim=None, keepdim=False", _both_extremes),
    **named(
        "quantile nanquantile", "input, q, dim=None, keepdim=False, *, interpolation='linear', out=None", _quantile
    ),
    **named("bincount", "input, weights=None, minlength=0", _counted),
    **named("diff", "input, n=1, dim=-1, prepend=None, append=None", _differences),
}
