"""Counting: the numbers of places, and what is a comparison of them: identity matrices, triangles, one-hot rows."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike

from typednn.arrays import refuse_beyond_memory
from typednn.errors import ArgumentError, ShapeError, explain
from typednn.graph.graph import GRAPH
from typednn.graph.kinds import DTYPES
from typednn.graph.movement import unsqueeze
from typednn.graph.nodes import (
    binary,
    cast_to,
    code_of,
    reshape,
    tensor,
)
from typednn.graph.operands import checked, count_of, integers_of
from typednn.graph.operations import Binary
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Rank1, Rank2, Tensor

_INT64: Final = np.dtype(np.int64)


def arange(start: int, stop: int | None = None, step: int = 1, dtype: DTypeLike = np.int64) -> Tensor[Rank1, Any]:
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


def eye(rows: int, columns: int | None = None, k: int = 0, dtype: DTypeLike = np.float32) -> Tensor[Rank2, Any]:
    """1 where the column is ``k`` more than the row, else 0: the identity matrix."""
    row, column = _grid("eye", rows, columns)
    return cast_to(binary(Binary.EQUAL, row + k, column), dtype)


def tri(rows: int, columns: int | None = None, k: int = 0, dtype: DTypeLike = np.float32) -> Tensor[Rank2, Any]:
    """1 where the column is at most ``k`` more than the row, else 0."""
    row, column = _grid("tri", rows, columns)
    return cast_to(row + k >= column, dtype)


def _grid(where: str, rows: int, columns: int | None) -> tuple[AnyTensor, AnyTensor]:
    """The number of each row, of shape (rows, 1), and of each column, (1, columns)."""
    height = count_of(where, "rows", rows)
    width = height if columns is None else count_of(where, "columns", columns)
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


def one_hot(indices: AnyTensor, classes: int, dtype: DTypeLike = np.float32) -> AnyTensor:
    """1 at the place that the integer names, along a last axis of size ``classes``, else 0; 0 everywhere for an integer
    out of range.
    """
    count = count_of("one_hot", "classes", classes)
    places = _counted("one_hot", 0, count, dtype=integers_of("one_hot", indices).dtype)
    return cast_to(binary(Binary.EQUAL, unsqueeze(indices, -1), places), dtype)
