"""Movement of numbers, made of RESHAPE, PERMUTE, EXPAND and PAD: slices, joining, repeating, turning; and choice by
tensors of integers.

Indices in brackets are NumPy's basic ones: integers, slices, ``None``, ``...``. A slice with a step is a cut, a reshape
and another cut. Names are NumPy's; those of PyTorch stand where NumPy has none: ``gather``, ``scatter_add``,
``one_hot``, ``squeeze`` and ``unsqueeze``.

Nothing is lost on the way: infinities, NaN and the sign of zero arrive as they were, and every dtype moves.

``take``, ``gather`` and ``scatter_add`` are `Function`s: whole nodes, whose derivatives are each other. As sums over a
comparison with all places they would cost as many operations as there are places, for each number.
"""

# An index may be anything.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from numbers import Integral
from typing import Any, Final

import numpy as np

from typednn.arrays import is_floating, namespace, refuse_beyond_memory
from typednn.errors import ArgumentError, DTypeError, ShapeError, explain
from typednn.graph.custom import Function
from typednn.graph.elementwise import checked, where
from typednn.graph.graph import GRAPH, Shape
from typednn.graph.kinds import DTYPES
from typednn.graph.nodes import (
    as_tensor,
    axes_of,
    binary,
    broadcast_to,
    cast_to,
    code_of,
    constant,
    every,
    pad,
    padded,
    permute,
    reshape,
    tensor,
)
from typednn.graph.operations import Binary
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Axes, Number, Operand, Rank1, Rank2, Tensor, registered

_INT64: Final = np.dtype(np.int64)

# ------------------------------------------------------------------ arguments


def axis_of(where: str, axis: int, x: AnyTensor, more: int = 0) -> int:
    """``axis`` as the number of an axis of ``x``, or of a result that has ``more`` axes."""
    ndim = checked(where, x).ndim + more
    if not isinstance(axis, Integral) or not -ndim <= axis < ndim:
        got = f"{axis!r} of {GRAPH.expression(x.id)}"
        raise ArgumentError(
            explain(where, f"axis is from {-ndim} to {ndim - 1}" if ndim else "has an axis", got), "axis"
        )
    return int(axis) % ndim


def _count(where: str, name: str, value: Any, least: int = 0) -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ArgumentError(explain(where, f"{name} is an integer from {least} on", repr(value)), name)
    return int(value)


def _several(where: str, tensors: Any) -> list[AnyTensor]:
    """``tensors``, at least one."""
    if isinstance(tensors, Tensor) or not tensors:
        got = "none" if not isinstance(tensors, Tensor) else "a tensor"
        raise ArgumentError(explain(where, "joins a sequence of at least one tensor", got, "write [x, y]"), "tensors")
    return [checked(where, each) for each in tensors]


def _integers(where: str, indices: AnyTensor) -> AnyTensor:
    if checked(where, indices).dtype.kind not in "iu":
        got = f"{indices.dtype}: {GRAPH.expression(indices.id)}"
        raise DTypeError(explain(where, "takes indices of integers", got, "cast them, as in indices.cast(np.int64)"))
    return indices


# ------------------------------------------------------------------ slices


@registered
def sliced(x: AnyTensor, index: Any) -> AnyTensor:
    """``x[index]``."""
    given: tuple[Any, ...] = index if isinstance(index, tuple) else (index,)
    if sum(each is Ellipsis for each in given) > 1:
        raise ArgumentError(explain("Tensor[...]", "has one ellipsis", repr(index)), "index")
    named = sum(each is not None and each is not Ellipsis for each in given)
    if named > x.ndim:
        raise ShapeError(
            explain("Tensor[...]", f"has at most {x.ndim} indices", f"{index} of {GRAPH.expression(x.id)}")
        )
    rest = [slice(None)] * (x.ndim - named)
    place = next((place for place, each in enumerate(given) if each is Ellipsis), None)
    full = [*given, *rest] if place is None else [*given[:place], *rest, *given[place + 1 :]]
    axis, shape, widths, steps = 0, list[int](), [(0, 0)] * x.ndim, list[tuple[int, slice]]()
    for each in full:
        if each is None:
            shape.append(1)
            continue
        size = x.shape[axis]
        if isinstance(each, slice):
            start, stop, step = _indices(each, size)
            count = len(range(start, stop, step))
            if step == 1 or count == 0:
                widths[axis] = (-start, start + count - size) if count else (0, -size)
            else:
                steps.append((axis, slice(start, stop, step)))
            shape.append(count)
        elif isinstance(each, Integral) and not isinstance(each, bool):
            if not -size <= each < size:
                got = f"{each} on axis {axis} of {GRAPH.expression(x.id)}"
                raise ShapeError(
                    explain("Tensor[...]", f"an index is from {-size} to {size - 1}" if size else "has an index", got)
                )
            before = int(each) % size
            widths[axis] = (-before, before + 1 - size)
        else:
            cure = "typednn.graph.take picks rows by a tensor of integers"
            got = type(each).__name__
            raise ArgumentError(explain("Tensor[...]", "takes integers, slices, None and ...", got, cure), "index")
        axis += 1
    x = pad(x, widths)  # all cuts at once
    for place, each in steps:
        x = _stepped(x, place, each)
    return reshape(x, tuple(shape))


def _indices(each: slice, size: int) -> tuple[int, int, int]:
    try:
        return each.indices(size)
    except (TypeError, ValueError):
        rule = "a slice has integers, and a step that is not 0"
        raise ArgumentError(explain("Tensor[...]", rule, repr(each)), "index") from None


def _stepped(x: AnyTensor, axis: int, wanted: slice) -> AnyTensor:
    """The numbers of one axis that ``wanted`` names, which has numbers only, and names one place at least."""
    start, stop, step = wanted.start, wanted.stop, wanted.step
    count = len(range(start, stop, step))
    if step < 0:
        low = start + (count - 1) * step
        return flip(sliced(x, (*[slice(None)] * axis, slice(low, start + 1, -step))), axis)
    return every(x, axis, start, count, step)


def pad_with(x: Tensor[R, D], widths: Sequence[tuple[int, int]], value: Number) -> Tensor[R, D]:
    """``x`` with ``value`` around it, as `pad` does with zeros; negative widths cut off. Such as -∞ for a maximum."""
    around: AnyTensor = pad(checked("pad_with", x), widths)
    if value == 0:
        return around
    inside = pad(constant(True, np.bool_, x.shape), widths)
    return where(inside, around, value)


def split(x: Tensor[R, D], sections: int | Sequence[int], axis: int = 0) -> list[Tensor[R, D]]:
    """``x`` in so many equal pieces along ``axis``, or cut at these places, as NumPy's ``split`` does."""
    place = axis_of("split", axis, x)
    size = x.shape[place]
    if not isinstance(sections, Sequence):
        sections = _count("split", "sections", sections, 1)
        if size % sections:
            got = f"{sections} of {GRAPH.expression(x.id)} along axis {axis}"
            raise ShapeError(
                explain("split", f"sections are equal: a divisor of {size}", got, "name the places to cut at")
            )
        sections = range(size // sections, size, max(size // sections, 1)) if size else [0] * (sections - 1)
    edges = [0, *(_indices(slice(each), size)[1] for each in sections), size]
    before = (slice(None),) * place
    return [sliced(x, (*before, slice(start, stop))) for start, stop in pairwise(edges)]


def set_item(x: Tensor[R, D], index: Any, values: Operand) -> Tensor[R, D]:
    """``x`` with ``values``, broadcast, in the place of x[index]; x itself stays as it is. Slices are NumPy's, as in
    brackets.
    """
    shape = sliced(checked("set_item", x), index).shape
    new = reshape(broadcast_to(as_tensor(values, x), shape), (-1,))
    if not new.size:
        return x
    refuse_beyond_memory("set_item", x.shape, _INT64, "cpu", None)
    places = np.arange(x.size).reshape(x.shape)[index].reshape(-1)
    is_new, which = np.zeros(x.shape, np.bool_), np.zeros(x.size, np.int64)
    is_new[index], which[places] = True, np.arange(places.size)
    return where(tensor(is_new), _Take(0)(new, tensor(which.reshape(x.shape))), x)


# ------------------------------------------------------------------ joining


def concatenate(tensors: Sequence[Tensor[R, D]], axis: int = 0) -> Tensor[R, D]:
    """``tensors`` one after another along ``axis``: each between zeros, then one of two at each place, in pairs."""
    given = _several("concatenate", tensors)
    place = axis_of("concatenate", axis, given[0])
    others = {(each.ndim, *each.shape[:place], *each.shape[place + 1 :]) for each in given}
    if len(others) > 1:
        got = " and ".join(str(each.shape) for each in given) + f" along axis {axis}"
        raise ShapeError(explain("concatenate", "all other sizes are equal", got))
    if len({each.dtype for each in given}) > 1:
        got = " and ".join(str(each.dtype) for each in given)
        raise DTypeError(explain("concatenate", "joins tensors of one dtype", got, "cast them"))
    joined: list[AnyTensor] = [each for each in given if each.shape[place]] or given[:1]
    while len(joined) > 1:
        pairs = [_joined(left, right, place) for left, right in zip(joined[::2], joined[1::2], strict=False)]
        joined = [*pairs, *joined[-1:]] if len(joined) % 2 else pairs
    return joined[0]


def _joined(left: AnyTensor, right: AnyTensor, axis: int) -> AnyTensor:
    if is_floating(left.dtype):
        # x - 0 is x, also if x is -0, which x + 0 would lose.
        return -padded(-left, axis, 0, right.shape[axis]) - padded(-right, axis, left.shape[axis], 0)
    return padded(left, axis, 0, right.shape[axis]) | padded(right, axis, left.shape[axis], 0)


def stack(tensors: Sequence[Tensor[Any, D]], axis: int = 0) -> Tensor[Any, D]:
    """``tensors`` of one shape as one with another axis, which counts them."""
    given = _several("stack", tensors)
    place = axis_of("stack", axis, given[0], more=1)
    if len({each.shape for each in given}) > 1:
        got = " and ".join(str(each.shape) for each in given)
        raise ShapeError(explain("stack", "all tensors have one shape", got))
    return concatenate([unsqueeze(each, place) for each in given], place)


# ------------------------------------------------------------------ axes


def transpose(x: Tensor[R, D], axes: Sequence[int] | None = None) -> Tensor[R, D]:
    """Its axes in this order, in reverse order where none is given."""
    ndim = checked("transpose", x).ndim
    return permute(
        x, tuple(range(ndim))[::-1] if axes is None else tuple(axis_of("transpose", each, x) for each in axes)
    )


def swapaxes(x: Tensor[R, D], axis1: int, axis2: int) -> Tensor[R, D]:
    """Two axes, each in the other's place."""
    first, second = axis_of("swapaxes", axis1, x), axis_of("swapaxes", axis2, x)
    order = list(range(x.ndim))
    order[first], order[second] = second, first
    return permute(x, tuple(order))


def moveaxis(x: Tensor[R, D], source: int, destination: int) -> Tensor[R, D]:
    """One axis in another place, the others as they follow each other."""
    old, new = axis_of("moveaxis", source, x), axis_of("moveaxis", destination, x)
    order = [each for each in range(x.ndim) if each != old]
    order.insert(new, old)
    return permute(x, tuple(order))


def rollaxis(x: Tensor[R, D], axis: int, start: int = 0) -> Tensor[R, D]:
    """One axis before the one that was number ``start``; ``start`` may be the number of axes."""
    old = axis_of("rollaxis", axis, x)
    if not -x.ndim <= start <= x.ndim:
        raise ArgumentError(explain("rollaxis", f"start is from {-x.ndim} to {x.ndim}", repr(start)), "start")
    new = start + x.ndim if start < 0 else start
    return moveaxis(x, old, new - 1 if new > old else new)


def squeeze(x: Tensor[Any, D], axis: Axes = None) -> Tensor[Any, D]:
    """Without these axes, which have size 1; without all such axes where none is named."""
    checked("squeeze", x)
    axes = (
        tuple(place for place, size in enumerate(x.shape) if size == 1) if axis is None else axes_of("squeeze", axis, x)
    )
    if any(x.shape[each] != 1 for each in axes):
        got = f"axis {axis} of {GRAPH.expression(x.id)}"
        raise ShapeError(explain("squeeze", "an axis that goes has size 1", got))
    return reshape(x, tuple(size for place, size in enumerate(x.shape) if place not in axes))


def unsqueeze(x: Tensor[Any, D], axis: int) -> Tensor[Any, D]:
    """With another axis of size 1, which is number ``axis`` of the result."""
    place = axis_of("unsqueeze", axis, x, more=1)
    return reshape(x, (*x.shape[:place], 1, *x.shape[place:]))


expand_dims: Final = unsqueeze


def flatten(x: Tensor[Any, D], start: int = 0, end: int = -1) -> Tensor[Any, D]:
    """The axes from ``start`` to ``end`` as one; a tensor of rank 0 gets one."""
    if not checked("flatten", x).ndim:
        return reshape(x, (1,))
    first, last = axis_of("flatten", start, x), axis_of("flatten", end, x)
    if first > last:
        raise ArgumentError(explain("flatten", "start is no later than end", f"{start} and {end}"), "start")
    size = 1
    for each in x.shape[first : last + 1]:
        size *= each
    return reshape(x, (*x.shape[:first], size, *x.shape[last + 1 :]))


# ------------------------------------------------------------------ turning and repeating

_DIGITS: Final = 3


def flip(x: Tensor[R, D], axis: Axes = None) -> Tensor[R, D]:
    """``x`` with some axes in reverse order, all where none is named. 4/3 nodes for each binary digit of a size.

    In base 2 the reverse of place i is the place of the opposite digits, up to a cut. An axis of size 2 is turned by a
    repetition and a cut: a b becomes a b a b, and b a its middle. Three digits are turned at once.
    """
    found: AnyTensor = checked("flip", x)
    for place in axes_of("flip", axis, x):
        found = _flipped(found, place)
    return found


def _flipped(x: AnyTensor, axis: int) -> AnyTensor:
    shape, size = x.shape, x.shape[axis]
    digits = max(size - 1, 0).bit_length()
    before, after = shape[:axis], shape[axis + 1 :]
    x = padded(x, axis, 0, 2**digits - size)
    for first in range(0, digits, _DIGITS):
        turned = min(_DIGITS, digits - first)
        outer = (*before, 2**first)
        inner = (2 ** (digits - first - turned), *after)
        x = reshape(x, (*outer, *(1, 2) * turned, *inner))
        x = broadcast_to(x, (*outer, *(2, 2) * turned, *inner))
        x = reshape(x, (*outer, *(4,) * turned, *inner))
        x = pad(x, [*[(0, 0)] * len(outer), *[(-1, -1)] * turned, *[(0, 0)] * len(inner)])
    return padded(reshape(x, (*before, 2**digits, *after)), axis, size - 2**digits, 0)


def roll(x: Tensor[R, D], shift: int, axis: int | None = None) -> Tensor[R, D]:
    """Each number ``shift`` places further along an axis; what leaves at the end enters at the start. All as one axis
    without ``axis``.
    """
    checked("roll", x)
    if not isinstance(shift, Integral):
        raise ArgumentError(explain("roll", "shift is an integer", repr(shift)), "shift")
    if axis is None:
        return reshape(roll(reshape(x, (x.size,)), shift, 0), x.shape)
    place = axis_of("roll", axis, x)
    size = x.shape[place]
    left = int(shift) % size if size else 0
    return padded(tile(x, (*[1] * place, 2, *[1] * (x.ndim - place - 1))), place, left - size, -left) if left else x


def repeat(x: Tensor[Any, D], repeats: int, axis: int | None = None) -> Tensor[Any, D]:
    """Each number so many times, one beside the other: NumPy's ``repeat``. All as one axis without ``axis``."""
    times = _count("repeat", "repeats", repeats)
    if axis is None:
        return repeat(flatten(x), times, 0)
    place = axis_of("repeat", axis, x)
    before, size, after = x.shape[:place], x.shape[place], x.shape[place + 1 :]
    wide = broadcast_to(reshape(x, (*before, size, 1, *after)), (*before, size, times, *after))
    return reshape(wide, (*before, size * times, *after))


def tile(x: Tensor[Any, D], repeats: int | Sequence[int]) -> Tensor[Any, D]:
    """``x`` so many times along each axis, whole beside whole: NumPy's ``tile``, PyTorch's ``repeat``. Further axes
    come first.
    """
    checked("tile", x)
    given = tuple(
        _count("tile", "repeats", each) for each in (repeats if isinstance(repeats, Sequence) else (repeats,))
    )
    times = (1,) * (x.ndim - len(given)) + given
    shape = (1,) * (len(times) - x.ndim) + x.shape
    pairs = list(zip(times, shape, strict=True))
    # Axes that don't repeat need no axis of their own.
    narrow = reshape(x, tuple(size for time, old in pairs for size in ((1, old) if time != 1 else (old,))))
    wide = broadcast_to(narrow, tuple(size for time, old in pairs for size in ((time, old) if time != 1 else (old,))))
    return reshape(wide, tuple(time * old for time, old in pairs))


# ------------------------------------------------------------------ counting, triangles, diagonals


def arange(start: int, stop: int | None = None, step: int = 1, dtype: Any = np.int64) -> Tensor[Rank1, Any]:
    """The numbers from ``start`` to before ``stop``, or from 0 to before ``start``, a leaf."""
    first, last = (0, start) if stop is None else (start, stop)
    if (
        not all(
            isinstance(each, int) or (isinstance(each, float) and math.isfinite(each)) for each in (first, last, step)
        )
        or step == 0
    ):
        got = f"{first}, {last}, {step}"
        raise ArgumentError(explain("arange", "takes finite numbers, and a step that is not 0", got))
    return _counted("arange", first, last, step, DTYPES[code_of("arange", dtype)])


def _counted(
    where: str, first: float, last: float, step: float = 1, dtype: np.dtype[Any] = _INT64
) -> Tensor[Rank1, Any]:
    """`arange` for ``where``, which is refused where memory has no place for it."""
    try:
        refuse_beyond_memory(where, (max(0, int(-((first - last) // step))),), _INT64, "cpu", None)
        return tensor(_numbers(first, last, step, dtype))
    except (OverflowError, ValueError) as error:
        raise ArgumentError(explain(where, f"takes numbers that {dtype} holds", f"{first}, {last}, {step}")) from error


@lru_cache(maxsize=256)
def _numbers(first: float, last: float, step: float, dtype: np.dtype[Any]) -> np.ndarray[tuple[int], np.dtype[Any]]:
    """The same array at each call, which cannot be written to: a formula that was recorded with it holds for every
    call.
    """
    found = np.arange(first, last, step).astype(dtype)
    found.flags.writeable = False
    return found


def eye(rows: int, columns: int | None = None, k: int = 0, dtype: Any = np.float32) -> Tensor[Rank2, Any]:
    """1 where the column is ``k`` more than the row, else 0: the identity matrix."""
    row, column = _grid("eye", rows, columns)
    return cast_to(binary(Binary.EQUAL, row + k, column), dtype)


def tri(rows: int, columns: int | None = None, k: int = 0, dtype: Any = np.float32) -> Tensor[Rank2, Any]:
    """1 where the column is at most ``k`` more than the row, else 0."""
    row, column = _grid("tri", rows, columns)
    return cast_to(row + k >= column, dtype)


def _grid(where: str, rows: int, columns: int | None) -> tuple[AnyTensor, AnyTensor]:
    """The number of each row, of shape (rows, 1), and of each column, (1, columns)."""
    height = _count(where, "rows", rows)
    width = height if columns is None else _count(where, "columns", columns)
    return reshape(_counted(where, 0, height), (height, 1)), reshape(_counted(where, 0, width), (1, width))


def tril(x: Tensor[R, D], k: int = 0) -> Tensor[R, D]:
    """``x``, but 0 above the ``k``-th diagonal of its last two axes."""
    return binary(Binary.MASKED, tri(*_last_two("tril", x), k, np.bool_), x)


def triu(x: Tensor[R, D], k: int = 0) -> Tensor[R, D]:
    """``x``, but 0 below the ``k``-th diagonal of its last two axes."""
    return binary(Binary.MASKED, ~tri(*_last_two("triu", x), k - 1, np.bool_), x)


def _last_two(where: str, x: AnyTensor) -> tuple[int, int]:
    if checked(where, x).ndim < 2:
        raise ShapeError(explain(where, "has two axes at least", GRAPH.expression(x.id)))
    return x.shape[-2], x.shape[-1]


def diagonal(x: Tensor[Any, D], offset: int = 0, axis1: int = 0, axis2: int = 1) -> Tensor[Any, D]:
    """The numbers whose place along ``axis2`` is ``offset`` more than along ``axis1``, as a last axis."""
    first, second = axis_of("diagonal", axis1, x), axis_of("diagonal", axis2, x)
    if first == second:
        raise ArgumentError(explain("diagonal", "names two axes", f"{axis1} and {axis2}"), "axis2")
    x = permute(x, (*(each for each in range(x.ndim) if each not in (first, second)), first, second))
    *others, rows, columns = x.shape
    length = max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
    if not length:
        return reshape(padded(x, x.ndim - 2, 0, -rows), (*others, 0))
    down, right = max(-offset, 0), max(offset, 0)
    square = pad(x, [*[(0, 0)] * len(others), (-down, down + length - rows), (-right, right + length - columns)])
    # In rows that are one longer than they were, the diagonal is the first column.
    longer = reshape(
        padded(reshape(square, (*others, length * length)), len(others), 0, length), (*others, length, length + 1)
    )
    return reshape(padded(longer, len(others) + 1, 0, -length), (*others, length))


def one_hot(indices: AnyTensor, classes: int, dtype: Any = np.float32) -> AnyTensor:
    """1 at the place that the integer names, along a last axis of size ``classes``, else 0; 0 everywhere for an integer
    out of range.
    """
    count = _count("one_hot", "classes", classes)
    places = _counted("one_hot", 0, count, dtype=_integers("one_hot", indices).dtype)
    return cast_to(binary(Binary.EQUAL, unsqueeze(indices, -1), places), dtype)


# ------------------------------------------------------------------ choice by tensors of integers


def _in_range(where: str, index: Any, size: int) -> Any:
    """An array of indices, which NumPy counts from the end below 0, if all are within ``size``."""
    if index.size and not (-size <= int(index.min()) and int(index.max()) < size):
        got = f"{int(index.min())} to {int(index.max())}"
        raise ArgumentError(
            explain(where, f"indices are from {-size} to {size - 1}" if size else "an axis has indices", got), "indices"
        )
    return index


@dataclass(frozen=True)
class _Take(Function):
    """The rows of x that integers name, along an axis."""

    axis: int

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        x, indices = inputs
        return (*x.shape[: self.axis], *indices.shape, *x.shape[self.axis + 1 :]), x.dtype

    def forward(self, *arrays: Any) -> Any:
        x, indices = arrays
        return namespace(x).take(x, _in_range("take", indices, x.shape[self.axis]), axis=self.axis)

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> Any:
        x, indices = inputs
        return _AddRows(self.axis, x.shape[self.axis])(next_grad, indices), None


@dataclass(frozen=True)
class _AddRows(Function):
    """The transpose of `_Take`: of each of ``size`` rows the sum of the values that name it."""

    axis: int
    size: int

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        values, indices = inputs
        return (*values.shape[: self.axis], self.size, *values.shape[self.axis + indices.ndim :]), values.dtype

    def forward(self, *arrays: Any) -> Any:
        values, indices = arrays
        xp, first = namespace(values), self.axis
        total = xp.zeros((*values.shape[:first], self.size, *values.shape[first + indices.ndim :]), values.dtype)
        xp.add.at(total, (*[slice(None)] * first, _in_range("take", indices, self.size)), values)
        return total

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> Any:
        return _Take(self.axis)(next_grad, inputs[1]), None


@dataclass(frozen=True)
class _Gather(Function):
    """Of each line of x along an axis, the numbers that integers name."""

    axis: int

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        return inputs[1].shape, inputs[0].dtype

    def forward(self, *arrays: Any) -> Any:
        x, indices = arrays
        return namespace(x).take_along_axis(x, _in_range("gather", indices, x.shape[self.axis]), axis=self.axis)

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> Any:
        x, indices = inputs
        return _Scatter(self.axis, x.shape[self.axis])(next_grad, indices), None


@dataclass(frozen=True)
class _Scatter(Function):
    """The transpose of `_Gather`: in each line along an axis, at each of ``size`` places the sum of the values that
    name it.
    """

    axis: int
    size: int

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        shape = inputs[0].shape
        return (*shape[: self.axis], self.size, *shape[self.axis + 1 :]), inputs[0].dtype

    def forward(self, *arrays: Any) -> Any:
        values, indices = arrays
        xp, shape = namespace(values), values.shape
        total = xp.zeros((*shape[: self.axis], self.size, *shape[self.axis + 1 :]), values.dtype)
        at = [
            xp.arange(size).reshape([-1 if each == place else 1 for each in range(len(shape))])
            for place, size in enumerate(shape)
        ]
        at[self.axis] = _in_range("scatter_add", indices, self.size)
        xp.add.at(total, tuple(at), values)
        return total

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> Any:
        return _Gather(self.axis)(next_grad, inputs[1]), None


def take(x: Tensor[Any, D], indices: AnyTensor, axis: int | None = None) -> Tensor[Any, D]:
    """The rows of ``x`` that ``indices``, integers of any shape, name along ``axis``: the axes of indices stand in its
    place.

    All numbers are one axis where none is named. Indices below 0 count from the end; one out of range is an error when
    it is computed.
    """
    integers = _integers("take", indices)
    if axis is None:
        return _Take(0)(reshape(checked("take", x), (x.size,)), integers)
    return _Take(axis_of("take", axis, x))(x, integers)


def gather(x: Tensor[R, D], axis: int, indices: AnyTensor) -> Tensor[R, D]:
    """PyTorch's ``gather``: result[i][j] = x[indices[i][j]][j] for axis 0. Sizes of ``indices`` off the axis are those
    of x, or 1.
    """
    place = axis_of("gather", axis, x)
    return _Gather(place)(x, _lines("gather", place, x, _integers("gather", indices)))


def scatter_add(x: Tensor[R, D], axis: int, indices: AnyTensor, values: AnyTensor) -> Tensor[R, D]:
    """PyTorch's ``scatter_add``: ``x`` with x[indices[i][j]][j] += values[i][j] for axis 0."""
    place = axis_of("scatter_add", axis, x)
    integers = _lines("scatter_add", place, x, _integers("scatter_add", indices))
    if checked("scatter_add", values).shape != integers.shape:
        got = f"{values.shape} and {integers.shape}: {GRAPH.expression(values.id)}"
        raise ShapeError(explain("scatter_add", "has a value for each index", got))
    return x + _Scatter(place, x.shape[place])(values, integers)


def _lines(where: str, axis: int, x: AnyTensor, indices: AnyTensor) -> AnyTensor:
    """``indices`` for each line of ``x`` along an axis."""
    if indices.ndim != x.ndim or any(
        place != axis and old not in (1, new)
        for place, (old, new) in enumerate(zip(indices.shape, x.shape, strict=True))
    ):
        got = f"{indices.shape} for {GRAPH.expression(x.id)}"
        raise ShapeError(explain(where, f"indices have the sizes of x, or 1, but for axis {axis}", got))
    return broadcast_to(indices, (*x.shape[:axis], indices.shape[axis], *x.shape[axis + 1 :]))
