"""Movement of numbers, made of RESHAPE, PERMUTE, EXPAND and PAD: slices, joining, repeating, turning.

Indices in brackets are NumPy's basic ones: integers, slices, ``None``, ``...``. A slice with a step is a cut, a reshape
and another cut. Names are NumPy's; those of PyTorch stand where NumPy has none: ``squeeze`` and ``unsqueeze``.

Nothing is lost on the way: infinities, NaN and the sign of zero arrive as they were, and every dtype moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from numbers import Integral
from typing import Any, Final

import numpy as np

from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DTypeError, ShapeError, explain
from typednn.graph.elementwise import where
from typednn.graph.graph import GRAPH
from typednn.graph.nodes import (
    axes_of,
    broadcast_to,
    constant,
    every,
    pad,
    padded,
    permute,
    reshape,
)
from typednn.graph.operands import axis_of, checked, count_of, several_of
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Axes, Index, Number, Tensor, registered

# ------------------------------------------------------------------ slices


@registered
def sliced(x: AnyTensor, index: Index | tuple[Index, ...]) -> AnyTensor:
    """``x[index]``."""
    given = index if isinstance(index, tuple) else (index,)
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
        sections = count_of("split", "sections", sections, 1)
        if size % sections:
            got = f"{sections} of {GRAPH.expression(x.id)} along axis {axis}"
            raise ShapeError(
                explain("split", f"sections are equal: a divisor of {size}", got, "name the places to cut at")
            )
        sections = range(size // sections, size, max(size // sections, 1)) if size else [0] * (sections - 1)
    edges = [0, *(_indices(slice(each), size)[1] for each in sections), size]
    before = (slice(None),) * place
    return [sliced(x, (*before, slice(start, stop))) for start, stop in pairwise(edges)]


# ------------------------------------------------------------------ joining


def concatenate(tensors: Sequence[Tensor[R, D]], axis: int = 0) -> Tensor[R, D]:
    """``tensors`` one after another along ``axis``: each between zeros, then one of two at each place, in pairs."""
    given = several_of("concatenate", tensors)
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
    given = several_of("stack", tensors)
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
    times = count_of("repeat", "repeats", repeats)
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
        count_of("tile", "repeats", each) for each in (repeats if isinstance(repeats, Sequence) else (repeats,))
    )
    times = (1,) * (x.ndim - len(given)) + given
    shape = (1,) * (len(times) - x.ndim) + x.shape
    pairs = list(zip(times, shape, strict=True))
    # Axes that don't repeat need no axis of their own.
    narrow = reshape(x, tuple(size for time, old in pairs for size in ((1, old) if time != 1 else (old,))))
    wide = broadcast_to(narrow, tuple(size for time, old in pairs for size in ((time, old) if time != 1 else (old,))))
    return reshape(wide, tuple(time * old for time, old in pairs))


# ------------------------------------------------------------------ counting, triangles, diagonals


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
