"""Movement of numbers, made of RESHAPE, PERMUTE, EXPAND and PAD: slices, joining, repeating, windows.

Indices are NumPy's basic ones: integers, slices, ``None``, ``...``. A slice with a step is a cut, a reshape and another cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typednn.errors import ArgumentError, ShapeError, explain
from typednn.graph.graph import GRAPH
from typednn.graph.tensor import AnyTensor, pad, reshape


def sliced(x: AnyTensor, index: Any) -> AnyTensor:
    """``x[index]``."""
    given = index if isinstance(index, tuple) else (index,)
    if sum(each is Ellipsis for each in given) > 1:
        raise ArgumentError(explain("Tensor[...]", "has one ellipsis", repr(index)), "index")
    named = sum(each is not None and each is not Ellipsis for each in given)
    if named > x.ndim:
        raise ShapeError(explain("Tensor[...]", f"has at most {x.ndim} indices", f"{index} of {GRAPH.expression(x.id)}"))
    rest = [slice(None)] * (x.ndim - named)
    place = next((place for place, each in enumerate(given) if each is Ellipsis), None)
    full = [*given, *rest] if place is None else [*given[:place], *rest, *given[place + 1 :]]
    axis, shape = 0, list[int]()
    for each in full:
        if each is None:
            shape.append(1)
        elif isinstance(each, slice):
            x = _ranged(x, axis, each)
            shape.append(x.shape[axis])
            axis += 1
        elif isinstance(each, int):
            size = x.shape[axis]
            if not -size <= each < size:
                got = f"{each} on axis {axis} of {GRAPH.expression(x.id)}"
                raise ShapeError(explain("Tensor[...]", f"an index is from {-size} to {size - 1}", got))
            x = _ranged(x, axis, slice(each % size, each % size + 1))
            axis += 1
        else:
            cure = "typednn.graph.take picks rows by a tensor of integers"
            got = type(each).__name__
            raise ArgumentError(explain("Tensor[...]", "takes integers, slices, None and ...", got, cure), "index")
    return reshape(x, tuple(shape))


def _ranged(x: AnyTensor, axis: int, wanted: slice) -> AnyTensor:
    """The numbers of one axis that ``wanted`` names."""
    start, stop, step = wanted.indices(x.shape[axis])
    count = len(range(start, stop, step))
    if step < 0:
        low = start + (count - 1) * step if count else 0
        return flip(_ranged(x, axis, slice(low, start + 1 if count else 0, -step)), axis)
    size = x.shape[axis]
    if step == 1 or count <= 1:
        return _cut(x, axis, start, size - start - count)
    # Each step's first number: a multiple of steps, then the first of each.
    x = _cut(x, axis, start, size - start - count * step)
    split = reshape(x, (*x.shape[:axis], count, step, *x.shape[axis + 1 :]))
    first = _cut(split, axis + 1, 0, step - 1)
    return reshape(first, (*x.shape[:axis], count, *x.shape[axis + 1 :]))


def _cut(x: AnyTensor, axis: int, before: int, after: int) -> AnyTensor:
    return pad(x, [(-before, -after) if place == axis else (0, 0) for place in range(x.ndim)])


def flip(x: AnyTensor, axis: int) -> AnyTensor:
    """``x`` with one axis in reverse order: halves of halves change places, in as many steps as its size has binary digits."""
    from typednn.graph.tensor import permute

    place = axis + x.ndim if axis < 0 else axis
    size = x.shape[place]
    digits = max(size - 1, 0).bit_length()
    padded = pad(x, [(0, 2**digits - size) if each == place else (0, 0) for each in range(x.ndim)])
    before, after = x.shape[:place], x.shape[place + 1 :]
    if not digits:
        return x
    # In base 2, the reverse of place i is the place of the opposite digits: each axis of size 2 is turned by two cuts.
    split = reshape(padded, (*before, *[2] * digits, *after))
    for digit in range(digits):
        at = len(before) + digit
        split = concatenate([_cut(split, at, 1, 0), _cut(split, at, 0, 1)], at)
    whole = reshape(split, (*before, 2**digits, *after))
    del permute
    return _cut(whole, place, 2**digits - size, 0)


def concatenate(tensors: Sequence[AnyTensor], axis: int = 0) -> AnyTensor:
    """``tensors`` one after another along ``axis``: the sum of all, each between zeros."""
    if not tensors:
        raise ArgumentError(explain("concatenate", "joins at least one tensor", "none"), "tensors")
    first = tensors[0]
    place = axis + first.ndim if axis < 0 else axis
    others = {(each.ndim, *each.shape[:place], *each.shape[place + 1 :]) for each in tensors}
    if not 0 <= place < first.ndim or len(others) > 1:
        got = " and ".join(str(each.shape) for each in tensors) + f" along axis {axis}"
        raise ShapeError(explain("concatenate", "all other sizes are equal", got))
    total, before, joined = sum(each.shape[place] for each in tensors), 0, list[AnyTensor]()
    for each in tensors:
        size = each.shape[place]
        joined.append(pad(each, [(before, total - before - size) if at == place else (0, 0) for at in range(each.ndim)]))
        before += size
    result = joined[0]
    for each in joined[1:]:
        result = result + each
    return result
