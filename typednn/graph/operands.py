"""Operands: what functions of tensors take, and how they refuse what they don't."""

from __future__ import annotations

from numbers import Integral
from typing import Any, cast

from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DTypeError, explain
from typednn.graph.graph import GRAPH
from typednn.graph.nodes import (
    as_tensor,
    binary,
    broadcast,
    constant,
)
from typednn.graph.operations import Binary
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Number, Operand, Tensor


def checked(where: str, x: Tensor[R, D], *, floats: bool = False) -> Tensor[R, D]:
    """``x``, which must be a tensor, of ``floats`` where that is said."""
    if not isinstance(x, Tensor):
        got = type(cast("object", x)).__name__
        raise ArgumentError(explain(where, "takes a tensor", got, "make it one, as in tensor(array)"))
    if floats and not is_floating(x.dtype):
        raise DTypeError(
            explain(where, "takes floats", f"{x.dtype}: {GRAPH.expression(x.id)}", "cast it to a float dtype")
        )
    return x


def pair_of(where: str, x: Operand, y: Operand) -> tuple[AnyTensor, AnyTensor]:
    """Both as tensors of one shape. One at least must be a tensor or an array."""
    if isinstance(x, int | float) and isinstance(y, int | float):
        raise ArgumentError(explain(where, "takes a tensor", f"{x} and {y}", "make one of them a tensor"))
    if not isinstance(x, Tensor) and not isinstance(x, int | float):
        x = as_tensor(x, cast("AnyTensor", y))
    if not isinstance(y, Tensor):
        y = as_tensor(y, cast("AnyTensor", x))
    if not isinstance(x, Tensor):
        x = as_tensor(x, y)
    a, b = (x, y) if x.shape == y.shape else broadcast(where, x, y)
    return a, b


def like(x: AnyTensor, value: Number) -> AnyTensor:
    """``value`` at each place of ``x``."""
    return constant(value, x.dtype, x.shape)


def masked(mask: AnyTensor, x: AnyTensor) -> AnyTensor:
    """``x`` where the mask is true, else 0, whatever x is there."""
    return binary(Binary.MASKED, mask, x)


def axis_of(where: str, axis: int, x: AnyTensor, more: int = 0) -> int:
    """``axis`` as the number of an axis of ``x``, or of a result that has ``more`` axes."""
    ndim = checked(where, x).ndim + more
    if not isinstance(axis, Integral) or not -ndim <= axis < ndim:
        got = f"{axis!r} of {GRAPH.expression(x.id)}"
        raise ArgumentError(
            explain(where, f"axis is from {-ndim} to {ndim - 1}" if ndim else "has an axis", got), "axis"
        )
    return int(axis) % ndim


def count_of(where: str, name: str, value: Any, least: int = 0) -> int:
    """``value`` as an int of at least ``least``."""
    if isinstance(value, bool) or not isinstance(value, Integral) or int(value) < least:
        raise ArgumentError(explain(where, f"{name} is an integer from {least} on", repr(value)), name)
    return int(value)


def several_of(where: str, tensors: Any) -> list[AnyTensor]:
    """``tensors``, at least one."""
    if isinstance(tensors, Tensor) or not tensors:
        got = "none" if not isinstance(tensors, Tensor) else "a tensor"
        raise ArgumentError(explain(where, "joins a sequence of at least one tensor", got, "write [x, y]"), "tensors")
    return [checked(where, each) for each in tensors]


def integers_of(where: str, indices: AnyTensor) -> AnyTensor:
    """``indices``, which must be a tensor of integers."""
    if checked(where, indices).dtype.kind not in "iu":
        got = f"{indices.dtype}: {GRAPH.expression(indices.id)}"
        raise DTypeError(explain(where, "takes indices of integers", got, "cast them, as in indices.cast(np.int64)"))
    return indices
