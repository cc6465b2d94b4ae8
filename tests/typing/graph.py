"""Tensors of the graph: rank and dtype are known after every operation, and do not mix.

Read by mypy --strict and by pyright --strict, never run. X-A13.
"""

from typing import Any, TypeAlias, assert_type

import numpy as np

from typednn.graph.nodes import tensor
from typednn.graph.region import region
from typednn.graph.tape import Tape
from typednn.graph.tensor import AnyTensor, Rank0, Rank1, Rank2, Rank3, Rank4, Tensor, Tensor1, Tensor2

Rows: TypeAlias = Tensor[Rank2, np.float32]
Row: TypeAlias = Tensor[Rank1, np.float32]
Single: TypeAlias = Tensor[Rank0, np.float32]


def known(
    rows: Rows,
    row: Row,
    single: Single,
    images: Tensor[Rank4, np.float32],
    array: "np.ndarray[Rank2, np.dtype[np.int64]]",
) -> None:
    # arithmetic: beside numbers, tensors of its own rank and single numbers a tensor keeps its rank; beside others the
    # rank is open
    assert_type(rows + rows, Rows)
    assert_type(rows * 2.0 - 1, Rows)
    assert_type(1 / rows, Rows)
    assert_type(rows / single, Rows)
    assert_type(-rows, Rows)
    assert_type(abs(rows), Rows)
    assert_type(rows**2, Rows)
    assert_type(rows + row, Tensor[Any, np.float32])
    assert_type(row * rows, Tensor[Any, np.float32])
    assert_type(rows @ rows, Tensor[Any, np.float32])

    # comparisons give booleans of the same rank
    assert_type(rows > 0.0, Tensor[Rank2, np.bool_])
    assert_type(rows <= rows, Tensor[Rank2, np.bool_])
    assert_type(rows == rows, Tensor[Rank2, np.bool_])
    assert_type(rows != 0.0, Tensor[Rank2, np.bool_])
    assert_type(~(rows > 0.0), Tensor[Rank2, np.bool_])

    # reductions lose axes
    assert_type(rows.sum(), Single)
    assert_type(rows.sum(axis=1), Row)
    assert_type(rows.sum(axis=1, keepdims=True), Rows)
    assert_type(images.sum(axis=0), Tensor[Rank3, np.float32])
    assert_type(row.sum(axis=0), Single)
    assert_type(rows.mean(), Single)
    assert_type(rows / rows.sum(axis=1, keepdims=True), Rows)

    # movement and casts
    assert_type(rows.reshape(6), Row)
    assert_type(rows.reshape(2, 3, 1), Tensor[Rank3, np.float32])
    assert_type(rows.reshape((2, 3)), Tensor[Any, np.float32])
    assert_type(rows.T, Rows)
    assert_type(rows.permute(1, 0), Rows)
    assert_type(rows.expand(2, 3), Tensor[Any, np.float32])
    assert_type(rows.cast(np.float64), Tensor[Rank2, np.float64])
    assert_type(rows.cast(np.int32) + 1, Tensor[Rank2, np.int32])

    # in and out
    assert_type(tensor(array), Tensor[Rank2, np.int64])
    assert_type(rows.numpy(), "np.ndarray[Rank2, np.dtype[np.float32]]")
    assert_type(rows.shape, Rank2)
    assert_type(rows.dtype, "np.dtype[np.float32]")
    assert_type(rows.realize().named("rows"), Rows)
    with region() as kept:
        assert_type(kept(rows), Rows)

    # gradients
    tape = Tape()
    assert_type(tape.gradient_persistent(single, [rows]), list[AnyTensor | None])
    assert_type(tape.gradient_persistent(single, [rows], zeros=True), list[AnyTensor])
    assert_type(tape.gradient(single, {"weight": rows}, zeros=True), dict[str, AnyTensor])

    # any dtype
    open_rows: Tensor2 = rows
    any_tensor: AnyTensor = open_rows
    assert_type(any_tensor, AnyTensor)


def refused(rows: Rows, row: Row, doubles: Tensor[Rank2, np.float64]) -> None:
    _a: Row = rows  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _b: Rows = rows.sum(axis=1)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _c: Row = rows + rows  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _d: Rows = rows.reshape(6)  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _e: Rows = rows > 0.0  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    _f: Rows = rows.cast(np.float64)  # type: ignore[arg-type]  # pyright: ignore[reportAssignmentType]
    _g: Tensor1 = rows  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType]
    rows + doubles  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
    _ = rows > doubles  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnknownVariableType]
    rows + "text"  # type: ignore[operator]  # pyright: ignore[reportOperatorIssue, reportUnusedExpression]
    rows[0] = row  # type: ignore[index]  # pyright: ignore[reportIndexIssue]
    rows.shape = (2, 3)  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    Tape().gradient(rows, rows)  # type: ignore[call-overload]  # pyright: ignore[reportCallIssue, reportArgumentType]
