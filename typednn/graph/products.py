"""Products of matrices: a multiplication over all pairs and a sum, which `typednn.graph.program` recognises and gives to BLAS."""

# What was given may be anything until it is a tensor.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

from typing import Any

from typednn.errors import ShapeError, explain
from typednn.graph.graph import GRAPH
from typednn.graph.kinds import Reduce
from typednn.graph.tensor import AnyTensor, Tensor, as_tensor, permute, reduce, reshape


def matmul(x: Any, y: Any) -> AnyTensor:
    """NumPy's ``x @ y``: the last axis of x with the last but one of y; the axes before them broadcast; vectors lose their axis."""
    x = as_tensor(x, y) if not isinstance(x, Tensor) else x
    y = as_tensor(y, x) if not isinstance(y, Tensor) else y
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        got = f"{x.shape} and {y.shape}: {GRAPH.expression(x.id)} and {GRAPH.expression(y.id)}"
        raise ShapeError(explain("matmul", "the last size of the first is the last but one of the second", got, "transpose one of them"))
    rows = reshape(x, (1, *x.shape)) if x.ndim == 1 else x
    columns = reshape(y, (*y.shape, 1)) if y.ndim == 1 else y
    swapped = permute(columns, (*range(columns.ndim - 2), columns.ndim - 1, columns.ndim - 2))
    a = reshape(rows, (*rows.shape[:-1], 1, rows.shape[-1]))
    b = reshape(swapped, (*swapped.shape[:-2], 1, *swapped.shape[-2:]))
    product: AnyTensor = reduce(Reduce.SUM, a * b, -1)
    shape = (*product.shape[:-2], *([] if x.ndim == 1 else [product.shape[-2]]), *([] if y.ndim == 1 else [product.shape[-1]]))
    return reshape(product, shape)
