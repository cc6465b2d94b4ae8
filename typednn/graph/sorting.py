"""Sorting: where the numbers of each line go, as a whole node, and the numbers there.

    order = argsort(scores, axis=-1, descending=True)
    best = sort(scores, descending=True)[..., :5]

Equal numbers keep their order. NaN is the largest number, as in NumPy. The derivative of ``sort`` goes back to where
each number was; where numbers are equal it is that of the order that they kept. n·log n comparisons for each line of n
numbers; the places are kept, int64.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from typednn.arrays import namespace
from typednn.graph.custom import Function
from typednn.graph.elementwise import isnan
from typednn.graph.graph import Shape
from typednn.graph.operands import axis_of
from typednn.graph.reductions import any as any_of
from typednn.graph.selection import gather
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Tensor


@final
@dataclass(frozen=True)
class _Order(Function):
    axis: int
    descending: bool

    @property
    def name(self) -> str:
        return "argsort"

    def result(self, *inputs: AnyTensor) -> tuple[Shape, np.dtype[Any]]:
        return inputs[0].shape, np.dtype(np.int64)

    def forward(self, *arrays: Any) -> Any:
        (x,) = arrays
        xp: Any = namespace(x)
        if not self.descending:
            return xp.argsort(x, axis=self.axis, kind="stable").astype(np.int64, copy=False)
        # The last of equal numbers comes first in the line turned round, and so last in the result turned round.
        turned = xp.argsort(xp.flip(x, self.axis), axis=self.axis, kind="stable")
        return xp.ascontiguousarray(xp.flip(x.shape[self.axis] - 1 - turned, self.axis)).astype(np.int64, copy=False)

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> None:
        return None


def argsort(x: Tensor[R, Any], axis: int = -1, descending: bool = False) -> Tensor[R, np.int64]:
    """The places of the numbers along ``axis``, the smallest one's first; the largest one's where ``descending``."""
    return _Order(axis_of("argsort", axis, x), bool(descending))(x)


def sort(x: Tensor[R, D], axis: int = -1, descending: bool = False) -> Tensor[R, D]:
    """The numbers along ``axis`` in their order, the smallest first, NaN last; the other way round where
    ``descending``.
    """
    place = axis_of("sort", axis, x)
    return gather(x, place, _Order(place, bool(descending))(x))


def has_nan(x: AnyTensor) -> Tensor[tuple[()], np.bool_]:
    """Whether one number is NaN."""
    return any_of(isnan(x))
