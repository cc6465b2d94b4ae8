"""Products of matrices: a multiplication over all pairs and a sum, which `typednn.graph.program` recognises and gives
to BLAS.

`linear` of floats is one node, the op `typednn.kernels.linear`, unless `typednn.graph.whole.decomposed` asks for the
twelve kinds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typednn.errors import ArgumentError, ShapeError, explain
from typednn.graph.graph import GRAPH, Shape, product
from typednn.graph.nodes import as_tensor, axes_of, permute, reduce, reshape
from typednn.graph.operations import Reduce
from typednn.graph.tensor import AnyTensor, registered
from typednn.graph.whole import Whole, takes_whole
from typednn.kernels import linear as op


@registered
def matmul(x: Any, y: Any) -> AnyTensor:
    """NumPy's ``x @ y``: the last axis of x with the last but one of y; the axes before them broadcast; vectors lose
    their axis.
    """
    return _matmul(*(as_tensor(each, other) for each, other in ((x, y), (y, x))))


def _matmul(x: AnyTensor, y: AnyTensor) -> AnyTensor:
    if not x.ndim or not y.ndim or x.shape[-1] != y.shape[max(y.ndim - 2, 0)]:
        got = f"{x.shape} and {y.shape}: {GRAPH.expression(x.id)} and {GRAPH.expression(y.id)}"
        raise ShapeError(
            explain(
                "matmul", "the last size of the first is the last but one of the second", got, "transpose one of them"
            )
        )
    rows = reshape(x, (1, *x.shape)) if x.ndim == 1 else x
    columns = reshape(y, (*y.shape, 1)) if y.ndim == 1 else y
    swapped = permute(columns, (*range(columns.ndim - 2), columns.ndim - 1, columns.ndim - 2))
    a = reshape(rows, (*rows.shape[:-1], 1, rows.shape[-1]))
    b = reshape(swapped, (*swapped.shape[:-2], 1, *swapped.shape[-2:]))
    found: AnyTensor = reduce(Reduce.SUM, a * b, -1)
    sizes: Shape = found.shape
    shape = (*sizes[:-2], *([] if x.ndim == 1 else [sizes[-2]]), *([] if y.ndim == 1 else [sizes[-1]]))
    return reshape(found, shape)


def tensordot(x: AnyTensor, y: AnyTensor, axes: int | tuple[Sequence[int], Sequence[int]] = 2) -> AnyTensor:
    """NumPy's: the sum of all products over pairs of axes. ``axes`` names those of x and those of y, or says how many
    last and first ones.

    The other axes of x stand before those of y.
    """
    if isinstance(axes, int):
        if not 0 <= axes <= min(x.ndim, y.ndim):
            raise ArgumentError(explain("tensordot", f"sums over 0 to {min(x.ndim, y.ndim)} axes", str(axes)), "axes")
        axes = range(x.ndim - axes, x.ndim), range(axes)
    of_x, of_y = (
        [each + tensor.ndim if each < 0 else each for each in given] for tensor, given in zip((x, y), axes, strict=True)
    )
    for tensor, named in ((x, of_x), (y, of_y)):
        axes_of("tensordot", named, tensor)
    if [x.shape[each] for each in of_x] != [y.shape[each] for each in of_y]:
        got = f"{x.shape} along {tuple(of_x)} and {y.shape} along {tuple(of_y)}"
        raise ShapeError(explain("tensordot", "pairs of axes have one size", got))
    rest_of_x, rest_of_y = (
        [each for each in range(t.ndim) if each not in named] for t, named in ((x, of_x), (y, of_y))
    )
    shape = (*(x.shape[each] for each in rest_of_x), *(y.shape[each] for each in rest_of_y))
    summed = product([x.shape[each] for each in of_x])
    rows = reshape(permute(x, (*rest_of_x, *of_x)), (product([x.shape[each] for each in rest_of_x]), summed))
    columns = reshape(permute(y, (*of_y, *rest_of_y)), (summed, product([y.shape[each] for each in rest_of_y])))
    return reshape(matmul(rows, columns), shape)


def linear(x: AnyTensor, weight: AnyTensor, bias: AnyTensor | None = None) -> AnyTensor:
    """``x weightᵀ + bias``: x (…, in), weight (out, in), bias (out). 2·rows·in·out flops."""
    if (
        weight.ndim != 2
        or not x.ndim
        or x.shape[-1] != weight.shape[1]
        or (bias is not None and bias.shape != weight.shape[:1])
    ):
        others = "" if bias is None else f", bias {bias.shape}"
        got = f"x {x.shape}, weight {weight.shape}{others}: {GRAPH.expression(x.id)} and {GRAPH.expression(weight.id)}"
        raise ShapeError(explain("linear", "x is (…, in), weight (out, in), bias (out)", got))
    if not takes_whole(x):
        y = matmul(x, permute(weight, (1, 0)))
        return y if bias is None else y + bias
    rows = reshape(x, (product(x.shape[:-1]), x.shape[-1]))
    y = Whole.of(op.forward, (rows.shape[0], weight.shape[0]), x=rows, weight=weight, bias=bias)
    return reshape(y, (*x.shape[:-1], weight.shape[0]))
