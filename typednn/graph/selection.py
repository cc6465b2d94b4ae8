"""Selection: numbers by the places that tensors of integers name, and their transposes, which add numbers up at places.

``take``, ``gather`` and ``scatter_add`` are `Function`s: whole nodes, whose derivatives are each other. As sums over a
comparison with all places they would cost as many operations as there are places, for each number. ``take`` is NumPy's,
``gather`` and ``scatter_add`` are PyTorch's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from typednn.arrays import namespace, refuse_beyond_memory
from typednn.errors import ArgumentError, ShapeError, explain
from typednn.graph.custom import Function
from typednn.graph.elementwise import where
from typednn.graph.graph import GRAPH, Shape
from typednn.graph.movement import sliced
from typednn.graph.nodes import (
    as_tensor,
    broadcast_to,
    reshape,
    tensor,
)
from typednn.graph.operands import axis_of, checked, integers_of
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Index, Operand, Tensor


def set_item(x: Tensor[R, D], index: Index | tuple[Index, ...], values: Operand) -> Tensor[R, D]:
    """``x`` with ``values``, broadcast, in the place of x[index]; x itself stays as it is. Slices are NumPy's, as in
    brackets.
    """
    shape = sliced(checked("set_item", x), index).shape
    new = reshape(broadcast_to(as_tensor(values, x), shape), (-1,))
    if not new.size:
        return x
    refuse_beyond_memory("set_item", x.shape, np.dtype(np.int64), "cpu", None)
    places = np.arange(x.size).reshape(x.shape)[index].reshape(-1)
    is_new, which = np.zeros(x.shape, np.bool_), np.zeros(x.size, np.int64)
    is_new[index], which[places] = True, np.arange(places.size)
    return where(tensor(is_new), _Take(0)(new, tensor(which.reshape(x.shape))), x)


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

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> tuple[AnyTensor, None]:
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

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> tuple[AnyTensor, None]:
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

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> tuple[AnyTensor, None]:
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

    def backward(self, next_grad: AnyTensor, *inputs: AnyTensor) -> tuple[AnyTensor, None]:
        return _Gather(self.axis)(next_grad, inputs[1]), None


def take(x: Tensor[Any, D], indices: AnyTensor, axis: int | None = None) -> Tensor[Any, D]:
    """The rows of ``x`` that ``indices``, integers of any shape, name along ``axis``: the axes of indices stand in its
    place.

    All numbers are one axis where none is named. Indices below 0 count from the end; one out of range is an error when
    it is computed.
    """
    integers = integers_of("take", indices)
    if axis is None:
        return _Take(0)(reshape(checked("take", x), (x.size,)), integers)
    return _Take(axis_of("take", axis, x))(x, integers)


def gather(x: Tensor[R, D], axis: int, indices: AnyTensor) -> Tensor[R, D]:
    """PyTorch's ``gather``: result[i][j] = x[indices[i][j]][j] for axis 0. Sizes of ``indices`` off the axis are those
    of x, or 1.
    """
    place = axis_of("gather", axis, x)
    return _Gather(place)(x, _lines("gather", place, x, integers_of("gather", indices)))


def scatter_add(x: Tensor[R, D], axis: int, indices: AnyTensor, values: AnyTensor) -> Tensor[R, D]:
    """PyTorch's ``scatter_add``: ``x`` with x[indices[i][j]][j] += values[i][j] for axis 0."""
    place = axis_of("scatter_add", axis, x)
    integers = _lines("scatter_add", place, x, integers_of("scatter_add", indices))
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
