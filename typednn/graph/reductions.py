"""Many numbers made one, along some axes, and running sums. With NumPy's names, made of REDUCE and what is elementwise.

    var(x, axis=(0, 2), keepdims=True)       # unbiased; correction=0 is the mean of squares

``axis`` is one axis, several, or None for all; ``keepdims`` leaves axes of size 1. Dtypes stay as they are: sums of
int8 are int8. Two exceptions, as in NumPy: means of integers and booleans are float64, and places are int64.

Equal numbers share the derivative of ``max`` and ``min``. Running sums add in pairs: their error grows with the
logarithm of the size.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from typednn.arrays import is_floating
from typednn.errors import DTypeError, ShapeError, explain
from typednn.graph.counting import arange
from typednn.graph.elementwise import exp, isfinite, isnan, log, sqrt, stop_gradient, where
from typednn.graph.graph import GRAPH, Shape, product
from typednn.graph.movement import pad_with
from typednn.graph.nodes import axes_of, binary, cast_to, constant, reduce, reshape
from typednn.graph.operands import axis_of, checked
from typednn.graph.operations import Binary, Reduce
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Axes, Tensor

# ------------------------------------------------------------------ one operation each


def sum(x: AnyTensor, axis: Axes = None, keepdims: bool = False, dtype: DTypeLike | None = None) -> AnyTensor:
    """The sum, 0 of none. ``dtype`` is cast to first: booleans are counted as ``sum(mask, dtype=np.int64)``."""
    return reduce(Reduce.SUM, _as("sum", x, dtype), axis, keepdims)


def prod(x: AnyTensor, axis: Axes = None, keepdims: bool = False, dtype: DTypeLike | None = None) -> AnyTensor:
    """The product, 1 of none."""
    return reduce(Reduce.PROD, _as("prod", x, dtype), axis, keepdims)


def _as(where: str, x: AnyTensor, dtype: DTypeLike | None) -> AnyTensor:
    return checked(where, x) if dtype is None else cast_to(checked(where, x), dtype)


def max(x: Tensor[Any, D], axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]:
    """The largest number, NaN if there is one."""
    return reduce(Reduce.MAX, checked("max", x), axis, keepdims)


def min(x: Tensor[Any, D], axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]:
    """The smallest number, NaN if there is one."""
    return reduce(Reduce.MIN, checked("min", x), axis, keepdims)


# ------------------------------------------------------------------ truths and places


def any(x: AnyTensor, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, np.bool_]:
    """Whether one is neither false nor 0."""
    truth = x if checked("any", x).dtype.kind == "b" else x != constant(0, x.dtype, x.shape)
    return reduce(Reduce.SUM, cast_to(truth, np.int64), axis, keepdims) != 0


def all(x: AnyTensor, axis: Axes = None, keepdims: bool = False) -> Tensor[Any, np.bool_]:
    """Whether none is false or 0."""
    false = ~x if checked("all", x).dtype.kind == "b" else binary(Binary.EQUAL, x, constant(0, x.dtype, x.shape))
    return reduce(Reduce.SUM, cast_to(false, np.int64), axis, keepdims) == 0


def argmax(x: AnyTensor, axis: int | None = None, keepdims: bool = False) -> Tensor[Any, np.int64]:
    """The first place of the largest number, or of NaN; of all numbers in a row where no axis is named."""
    return _first("argmax", Reduce.MAX, x, axis, keepdims)


def argmin(x: AnyTensor, axis: int | None = None, keepdims: bool = False) -> Tensor[Any, np.int64]:
    """The first place of the smallest number, or of NaN."""
    return _first("argmin", Reduce.MIN, x, axis, keepdims)


def _first(name: str, operation: Reduce, x: AnyTensor, axis: int | None, keepdims: bool) -> AnyTensor:
    if axis is None:
        found = _first(name, operation, reshape(checked(name, x), (x.size,)), 0, False)
        return reshape(found, (1,) * x.ndim) if keepdims else found
    place = axis_of(name, axis, x)
    size = x.shape[place]
    best = x == reduce(operation, x, place, keepdims=True)
    if is_floating(x.dtype):
        best = best | isnan(x)
    # The first place has the largest distance to the end.
    distances = reshape(arange(size, 0, -1), tuple(size if each == place else 1 for each in range(x.ndim)))
    last: AnyTensor = reduce(Reduce.MAX, binary(Binary.MASKED, best, distances), place, keepdims)
    return binary(Binary.SUBTRACT, size, last)


# ------------------------------------------------------------------ moments


def mean(x: AnyTensor, axis: Axes = None, keepdims: bool = False, dtype: DTypeLike | None = None) -> AnyTensor:
    """The sum over the count; NaN of none. Of integers and booleans in float64."""
    checked("mean", x)
    return cast_to(x, dtype or (x.dtype if is_floating(x.dtype) else np.float64)).mean(axis, keepdims)


def var(x: Tensor[Any, D], axis: Axes = None, keepdims: bool = False, correction: float = 1) -> Tensor[Any, D]:
    """The sum of squared distances to the mean over the count less ``correction``: 1 is unbiased, as in PyTorch, 0 as
    in NumPy.

    NaN where there are no more numbers than that.
    """
    axes = axes_of("var", axis, checked("var", x, floats=True))
    distance = x - mean(x, axes, keepdims=True)
    count = product([x.shape[each] for each in axes]) - correction
    return reduce(Reduce.SUM, distance * distance, axes, keepdims) / float(count if count > 0 else 0)


def std(x: Tensor[Any, D], axis: Axes = None, keepdims: bool = False, correction: float = 1) -> Tensor[Any, D]:
    """The root of `var`. Where all numbers are equal it has no derivative, and that is NaN."""
    checked("std", x, floats=True)
    return sqrt(var(x, axis, keepdims, correction))


def logsumexp(x: Tensor[Any, D], axis: Axes = None, keepdims: bool = False) -> Tensor[Any, D]:
    """log Σ exp(x), by the distances to the largest number, so that nothing overflows."""
    axes = axes_of("logsumexp", axis, checked("logsumexp", x, floats=True))
    largest = stop_gradient(reduce(Reduce.MAX, x, axes, keepdims=True))
    shift = where(isfinite(largest), largest, 0.0)
    found = log(reduce(Reduce.SUM, exp(x - shift), axes, keepdims=True)) + shift
    return found if keepdims else reshape(found, tuple(size for place, size in enumerate(x.shape) if place not in axes))


def sum_to(x: Tensor[Any, D], shape: Shape) -> Tensor[Any, D]:
    """The sums that make ``x`` the ``shape`` it was broadcast from: the transpose of `broadcast_to`."""
    more = checked("sum_to", x).ndim - len(shape)
    if more < 0 or not _fits(x.shape[more:], shape):
        got = f"{x.shape} to {tuple(shape)}: {GRAPH.expression(x.id)}"
        raise ShapeError(explain("sum_to", "its last sizes stay, or become 1", got))
    axes = [place for place, size in enumerate(x.shape) if place < more or size != shape[place - more]]
    return reshape(reduce(Reduce.SUM, x, axes), tuple(shape))


def _fits(sizes: Shape, shape: Shape) -> bool:
    return not [new for size, new in zip(sizes, shape, strict=True) if new not in (1, size)]


# ------------------------------------------------------------------ running sums


def cumsum(x: Tensor[R, D], axis: int) -> Tensor[R, D]:
    """At each place the sum up to there: sums of two, four, eight, … neighbours. Two nodes for each binary digit of the
    size.
    """
    return _running("cumsum", Binary.ADD, x, axis, 0)


def cumprod(x: Tensor[R, D], axis: int) -> Tensor[R, D]:
    """At each place the product up to there."""
    return _running("cumprod", Binary.MULTIPLY, x, axis, 1)


def cummax(x: Tensor[R, D], axis: int) -> Tensor[R, D]:
    """At each place the largest number up to there."""
    checked("cummax", x)
    lowest = -np.inf if is_floating(x.dtype) else 0 if x.dtype.kind == "b" else int(np.iinfo(x.dtype.name).min)
    return _running("cummax", Binary.MAXIMUM, x, axis, lowest)


def _running(name: str, operation: Binary, x: AnyTensor, axis: int, neutral: float) -> AnyTensor:
    place = axis_of(name, axis, x)
    if x.dtype.kind == "b":
        raise DTypeError(
            explain(name, "takes numbers", f"bool: {GRAPH.expression(x.id)}", "cast it, as in mask.cast(np.int64)")
        )
    size, step = x.shape[place], 1
    while step < size:
        widths = [(step, -step) if each == place else (0, 0) for each in range(x.ndim)]
        x = binary(operation, pad_with(x, widths, neutral), x)
        step *= 2
    return x
