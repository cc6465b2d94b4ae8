"""The reference: each instruction by one function of NumPy, or of the arrays' own module.

It takes any dtype and any shape, and every engine agrees with it. Integers divide towards minus infinity, as NumPy's
``//`` does; to a negative power they are what is left of the fraction: 1 and -1 stay units, others give 0. Not defined,
and left to NumPy: integer division by zero, shifts by as many places as there are or more, and the cast of NaN or of
numbers out of range to integers.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeAlias, cast

import numpy as np

from typednn.arrays import namespace
from typednn.backends import to_device
from typednn.graph.custom import computed
from typednn.graph.graph import number_of
from typednn.graph.kinds import DTYPES, Kind
from typednn.graph.operations import OPERATIONS
from typednn.graph.program import PRODUCT, Contraction, Instruction, Program, last_uses
from typednn.graph.views import View, Windowed

Multiply: TypeAlias = Callable[[Any, Any], Any]  # (n, rows, depth) and (n, depth, columns): n products
Look: TypeAlias = Callable[[Instruction, Sequence[Any], Any], None]

_BLOCK: Final = 1 << 18  # numbers of windows that are stored at a time
# By kind and operation.
VALUES: Final = {kind: {int(each): each.row.value for each in operations} for kind, operations in OPERATIONS.items()}


def padded(xp: Any, x: Any, widths: Sequence[tuple[int, int]], shape: Sequence[int]) -> Any:
    """``x`` with zeros around it, or cut off where a width is negative."""
    cut = x[
        tuple(
            slice(max(-before, 0), size - max(-after, 0)) for (before, after), size in zip(widths, x.shape, strict=True)
        )
    ]
    if cut.shape == tuple(shape):
        return cut
    y = xp.zeros(shape, x.dtype)
    y[
        tuple(slice(max(before, 0), max(before, 0) + size) for (before, _), size in zip(widths, cut.shape, strict=True))
    ] = cut
    return y


def contracted(xp: Any, x: Any, y: Any, how: Contraction, multiply: Multiply | None = None) -> Any:
    """The sum over some axes of all products of ``x`` and ``y``, whose axes of size 1 repeat: products of matrices, by
    ``multiply``.
    """
    kept = [axis for axis in range(len(how.shape)) if axis not in how.axes]
    first = [axis for axis in kept if y.shape[axis] == 1]
    second = [axis for axis in kept if x.shape[axis] == 1 and y.shape[axis] != 1]
    both = [axis for axis in kept if axis not in first and axis not in second]

    def sizes(axes: Sequence[int]) -> int:
        return math.prod(how.shape[axis] for axis in axes)

    rows = x.transpose(*both, *first, *how.axes, *second).reshape(sizes(both), sizes(first), sizes(how.axes))
    columns = y.transpose(*both, *how.axes, *second, *first).reshape(sizes(both), sizes(how.axes), sizes(second))
    found = (multiply or xp.matmul)(rows, columns).reshape([how.shape[axis] for axis in (*both, *first, *second)])
    order = (*both, *first, *second)
    return found.transpose([order.index(axis) for axis in kept])


def windowed(xp: Any, x: Any, y: Any, how: Windowed, shape: Sequence[int], multiply: Multiply | None = None) -> Any:
    """`contracted` of inputs that may be windows, a block of them at a time; of ``shape``, which may be what windows
    are added to.
    """
    sizes, axes = how.contraction
    kept = [axis for axis in range(len(sizes)) if axis not in axes]
    inputs = [
        array.reshape(own) if view is None else seen(xp, surrounded(xp, array, view), view, own, range(len(own)))
        for array, view, own in zip((x, y), how.views, how.sizes, strict=True)
    ]
    total = xp.zeros([sizes[axis] for axis in kept] if how.into is None else _around(shape, how.into), x.dtype)
    out = total if how.into is None else seen(xp, total, how.into, sizes, kept)
    again = _repeated(how, kept)
    for block in _blocks(how, kept):
        parts = [
            each[tuple(cut if size > 1 else slice(None) for cut, size in zip(block, each.shape, strict=True))]
            for each in inputs
        ]
        own = tuple(len(range(size)[cut]) for cut, size in zip(block, sizes, strict=True))
        found = contracted(xp, parts[0], parts[1], Contraction(own, axes), multiply)
        target = out[tuple(block[axis] for axis in kept)]
        for at in np.ndindex(*(size if axis in again else 1 for axis, size in enumerate(target.shape))):
            places = tuple(slice(place, place + 1) if axis in again else slice(None) for axis, place in enumerate(at))
            target[places] += found[places]
    if how.into is None:
        return total.reshape(shape)
    return xp.ascontiguousarray(padded(xp, total, [(-before, -after) for before, after in how.into.zeros], shape))


def _around(shape: Sequence[int], view: View) -> list[int]:
    return [size + before + after for size, (before, after) in zip(shape, view.zeros, strict=True)]


def surrounded(xp: Any, array: Any, view: View) -> Any:
    """``array`` with the zeros that its view may read."""
    return padded(xp, array, view.zeros, _around(array.shape, view))


def seen(xp: Any, array: Any, view: View, sizes: Sequence[int], axes: Sequence[int]) -> Any:
    """``array``, its zeros around it, along these axes of the view. The same memory, of which a number may have several
    places.
    """
    steps = [sum(step * stride for step, stride in zip(view.steps[axis], array.strides, strict=True)) for axis in axes]
    first = array[tuple(slice(start, None) for start in view.starts)]
    return xp.lib.stride_tricks.as_strided(first, [sizes[axis] for axis in axes], steps)


def _repeated(how: Windowed, kept: Sequence[int]) -> set[int]:
    """Axes of the result, the fewest numbers first, along which it is added a place at a time, as else two numbers were
    one.
    """
    view, sizes = how.into, how.contraction.shape
    if view is None:
        return set()
    ends = [1 + sum(view.steps[axis][place] * (sizes[axis] - 1) for axis in kept) for place in range(len(view.starts))]
    strides = [math.prod(ends[place + 1 :]) for place in range(len(ends))]
    found = {
        place: sum(map(operator.mul, view.steps[axis], strides)) for place, axis in enumerate(kept) if sizes[axis] > 1
    }
    alone: list[int] = []
    for place in sorted(found, key=lambda place: -sizes[kept[place]]):
        reach, apart = 0, True
        for each in sorted([*alone, place], key=found.__getitem__):
            apart = apart and found[each] > reach
            reach += found[each] * (sizes[kept[each]] - 1)
        if apart:
            alone.append(place)
    return found.keys() - alone


def _blocks(how: Windowed, kept: Sequence[int]) -> Iterator[tuple[slice, ...]]:
    """Cuts along all axes, one block after another, of about `_BLOCK` windows' numbers each."""
    sizes = how.contraction.shape
    numbers: list[int] = [math.prod(own) for own, view in zip(how.sizes, how.views, strict=True) if view is not None]
    if how.into is not None:
        numbers.append(math.prod(sizes[axis] for axis in kept))
    left = max(numbers)
    cuts = [[slice(None)] for _ in sizes]
    for axis in how.blocked:
        if left <= _BLOCK:
            break
        left = max(left // sizes[axis], 1)
        step = max(_BLOCK // left, 1)
        cuts[axis] = [slice(start, start + step) for start in range(0, sizes[axis], step)]
    return itertools.product(*cuts)


def compute(each: Instruction, inputs: Sequence[Any], xp: Any) -> Any:
    """What one instruction gives."""
    kind = each.kind
    if kind == Kind.BINARY or kind == Kind.UNARY:
        return VALUES[kind][each.operation](xp, *inputs)
    if kind == Kind.CONST:
        low, high = each.extra
        return xp.full(each.shape, number_of(low, high, DTYPES[each.dtype]), DTYPES[each.dtype])
    if kind == Kind.EXPAND:
        return xp.broadcast_to(inputs[0], each.shape)
    if kind == Kind.PERMUTE:
        return inputs[0].transpose(each.extra)
    if kind == Kind.RESHAPE:
        return inputs[0].reshape(each.shape)
    if kind == Kind.PAD:
        return padded(xp, inputs[0], each.extra, each.shape)
    if kind == Kind.REDUCE:
        return VALUES[kind][each.operation](inputs[0], each.extra)
    if kind == Kind.CAST:
        return inputs[0].astype(DTYPES[each.dtype])
    if kind == PRODUCT:
        if isinstance(each.extra, Windowed):
            return windowed(xp, inputs[0], inputs[1], each.extra, each.shape)
        return contracted(xp, inputs[0], inputs[1], each.extra)
    if kind == Kind.TO_DEVICE:
        return to_device(inputs[0], each.extra)
    return computed(each.extra, each.shape, DTYPES[each.dtype], inputs)


def interpret(program: Program, arrays: Sequence[Any], look: Look | None = None) -> list[Any]:
    """The results of ``program`` for the arrays of its leaves. ``look`` sees each instruction, its inputs and what it
    gives.
    """
    values: list[Any] = []
    last = last_uses([each.inputs for each in program.instructions], program.outputs)
    xp: Any = namespace(arrays[0]) if arrays else np
    with np.errstate(all="ignore"):
        for place, each in enumerate(program.instructions):
            if each.kind == Kind.LEAF:
                values.append(arrays[each.extra])
                continue
            inputs = [values[given] for given in each.inputs]
            own = namespace(inputs[0]) if inputs and each.kind != Kind.CUSTOM else xp
            value = compute(each, inputs, own)
            # pyright does not know which number's type a number of NumPy's is of.
            values.append(np.asarray(cast("Any", value)) if isinstance(value, np.generic) else value)
            if look is not None:
                look(each, inputs, values[-1])
            for given in last.get(place, ()):
                values[given] = None
    return [values[place] for place in program.outputs]
