"""interpolate: images, lines or volumes in other sizes. PyTorch's function, with channels last.

    y = interpolate(images, size=(64, 64), mode="linear")        # (batch, height, width, channels)

nearest    y_i = x_j           j = floor(i·step)
linear     y_i = (1 - t)·x_j + t·x_(j+1)
           j + t = max((i + 1/2)·step - 1/2, 0), or i·(size - 1)/(new - 1) with ``align_corners``

The step is size/new, or 1/scale_factor where that is given. Each axis by itself, so ``linear`` of two axes is bilinear,
of three trilinear. One `take` for each axis, or two; nothing is kept but the indices. The derivative adds up what each
number gave.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from typednn.errors import ArgumentError, ShapeError, explain
from typednn.graph.graph import GRAPH
from typednn.graph.nodes import cast_to, reshape, sizes_of, tensor
from typednn.graph.operands import checked
from typednn.graph.selection import take
from typednn.graph.tensor import AnyTensor


def interpolate(
    x: AnyTensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "nearest",
    align_corners: bool = False,
) -> AnyTensor:
    """``x`` (batch, …, channels) with its inner axes in another ``size``, or ``scale_factor`` times as long, rounded
    down.

    ``mode`` is ``"nearest"`` or ``"linear"``; ``align_corners``, of linear, maps the first and last places onto each
    other.
    """
    if checked("interpolate", x, floats=True).ndim < 3:
        raise ShapeError(explain("interpolate", "x is (batch, …, channels)", f"{x.shape}: {GRAPH.expression(x.id)}"))
    old = x.shape[1:-1]
    if mode not in ("nearest", "linear"):
        raise ArgumentError(explain("interpolate", 'mode is "nearest" or "linear"', repr(mode)), "mode")
    if align_corners and mode == "nearest":
        raise ArgumentError(explain("interpolate", "corners are aligned in mode linear", "nearest"), "align_corners")
    if (size is None) == (scale_factor is None):
        got = "none" if size is None else "both"
        raise ArgumentError(explain("interpolate", "takes one of size and scale_factor", got), "size")
    if size is not None:
        given = sizes_of("interpolate", size)
        new = given * len(old) if isinstance(size, int | np.integer) else given
        steps = list[tuple[int, float]](zip(old, new, strict=False))
    else:
        factors = _factors(scale_factor, len(old))
        new, steps = (
            tuple(int(before * factor) for before, factor in zip(old, factors, strict=False)),
            [(1, factor) for factor in factors],
        )
    if len(new) != len(old) or min(new) < 1 or min(old) < 1:
        got = f"{new} of {old}: {GRAPH.expression(x.id)}"
        raise ShapeError(explain("interpolate", f"has a new size from 1 on for each of {len(old)} inner axes", got))
    for place, (before, after, step) in enumerate(zip(old, new, steps, strict=True)):
        x = _along(x, place + 1, before, after, step, mode, align_corners)
    return x


def _factors(given: Any, axes: int) -> list[float]:
    several: list[Any] = list(given) if hasattr(given, "__iter__") else [given] * axes
    if len(several) != axes or not all(isinstance(each, int | float) and 0 < each < math.inf for each in several):
        rule = f"scale_factor is a number above 0, or {axes} of them"
        raise ArgumentError(explain("interpolate", rule, repr(given)), "scale_factor")
    return [float(each) for each in several]


def _along(
    x: AnyTensor, axis: int, old: int, new: int, step: tuple[int, float], mode: str, align_corners: bool
) -> AnyTensor:
    """``step`` is (over, by), of which the quotient is the step: a place times a step that is rounded could fall below
    the next number.
    """
    if old == new and step[0] == step[1]:
        return x
    if mode == "nearest":
        return take(x, tensor(_nearest(old, new, step)), axis)
    first, second, shares = _linear(old, new, step, align_corners)
    size = tuple(new if place == axis else 1 for place in range(x.ndim))
    share = cast_to(reshape(tensor(shares), size), x.dtype)
    return take(x, tensor(first), axis) * (1.0 - share) + take(x, tensor(second), axis) * share


# The same arrays each time, and read-only, so that a formula that has them is recorded once.


@lru_cache
def _nearest(old: int, new: int, step: tuple[int, float]) -> Any:
    over, by = step
    return _fixed(np.minimum(np.floor(np.arange(new) * over / by), old - 1).astype(np.int64))


@lru_cache
def _linear(old: int, new: int, step: tuple[int, float], align_corners: bool) -> Any:
    """Of each new place the two old ones that it lies between, and the share of the second."""
    at, (over, by) = np.arange(new), step
    where = at * (old - 1) / max(new - 1, 1) if align_corners else np.maximum((at + 0.5) * over / by - 0.5, 0)
    first = np.minimum(np.floor(where), old - 1).astype(np.int64)
    return _fixed(first), _fixed(np.minimum(first + 1, old - 1)), _fixed(where - first)


def _fixed(array: Any) -> Any:
    array.flags.writeable = False
    return array
