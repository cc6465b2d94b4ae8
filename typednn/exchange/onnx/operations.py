"""Operations that may stand between layers, as nodes of ONNX: a row for each that a trace has."""

# Rows are functions of what they export.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeAlias

import numpy as np

from typednn.arrays import is_array
from typednn.backends import to_numpy
from typednn.exchange.onnx.writer import Out, Writer
from typednn.exchange.tracing import POINTWISE, Node, Traced

Row: TypeAlias = "Callable[..., Out]"  # of the file, the node of the trace and its inputs


def _of_arrays(kind: str, of: str = "result") -> Row:
    """A function of each number; its inputs get the dtype of the ``result``, or what NumPy gives them ``together``."""

    def row(file: Writer, node: Node, *inputs: Any) -> Out:
        values = [each.value if isinstance(each, Traced) else each for each in inputs]
        dtype = node.output.dtype if of == "result" else np.result_type(*values)
        first = file.layout(*inputs) and len({each.shape for each in inputs}) == 1
        return Out(file.node(kind, *(_as(file, each, dtype, first) for each in inputs)), first)

    return row


def _as(file: Writer, value: Any, dtype: np.dtype[Any], first: bool = False) -> str:
    """The name of a value or of a constant in that dtype."""
    if isinstance(value, Traced):
        name = file.read(value, first)
        kind: int = file.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        return name if value.dtype == dtype else file.node("Cast", name, to=kind)
    array = np.asarray(to_numpy(value) if is_array(value) else value)
    repeated = [size == file.batch and not stride for size, stride in zip(array.shape, array.strides, strict=True)]
    if any(repeated):  # for each sample the same
        array = array[tuple(slice(1) if each else slice(None) for each in repeated)]
    elif array.size and array.ndim and (array == array.flat[0]).all():
        # one number, which may have been made for each sample
        array = array.reshape(-1)[:1].reshape([1] * array.ndim)
    return file.constant(value if array is value and array.dtype == dtype else array.astype(dtype))


def _reduced(kind: str) -> Row:
    def row(file: Writer, node: Node, x: Traced) -> Out:
        axes, keep = list(node.options["axes"]), int(node.options["keepdims"])
        if kind == "ReduceSum":
            return Out(file.node(kind, file.read(x), file.integers(*axes), keepdims=keep))
        return Out(file.node(kind, file.read(x), axes=axes, keepdims=keep))

    return row


def _concatenate(file: Writer, node: Node, *inputs: Any) -> Out:
    rank, axis, dtype = node.output.ndim, node.options["axis"], node.output.dtype
    first = axis == rank - 1 and file.layout(*inputs)
    given = (
        _as(file, each, dtype, first) if isinstance(each, Traced) else file.constant(np.asarray(each, dtype))
        for each in inputs
    )
    return Out(file.node("Concat", *given, axis=1 if first else axis), first)


def _getitem(file: Writer, node: Node, x: Traced) -> Out:
    axes, starts, stops, steps = (file.integers(*values) for values in zip(*node.options["cuts"], strict=True))
    return Out(file.node("Slice", file.read(x), starts, stops, axes, steps))


def _reshape(file: Writer, node: Node, x: Traced) -> Out:
    """The first size that can be the batch's, or a multiple of it, stays free."""
    sizes = list(node.output.shape)
    free = next((axis for axis, size in enumerate(sizes) if size % file.batch == 0), 0)
    return Out(file.node("Reshape", file.read(x), file.integers(*sizes[:free], -1, *sizes[free + 1 :])))


def _broadcast(file: Writer, node: Node, x: Traced) -> Out:
    sizes = [1 if size == file.batch else size for size in node.output.shape]  # what follows repeats it where it must
    return Out(file.node("Expand", file.read(x), file.integers(*sizes)))


def _where(file: Writer, node: Node, condition: Any, x: Any, y: Any) -> Out:
    dtype = node.output.dtype
    return Out(file.node("Where", _as(file, condition, np.dtype(np.bool_)), _as(file, x, dtype), _as(file, y, dtype)))


OPERATIONS: Final[dict[str, Row]] = {
    **{
        name: _of_arrays(each.row.onnx, "together" if each.row.takes == "any" else "result")
        for name, each in POINTWISE.items()
    },
    "matmul": _of_arrays("MatMul"),
    "minimum": _of_arrays("Min"),
    "square": lambda file, node, x: _of_arrays("Mul")(file, node, x, x),
    "less_equal": _of_arrays("LessOrEqual", "together"),
    "not_equal": lambda file, node, x, y: Out(file.node("Not", _of_arrays("Equal", "together")(file, node, x, y).name)),
    "logical_not": _of_arrays("Not"),
    "isnan": _of_arrays("IsNaN", "together"),
    "concatenate": _concatenate,
    "reshape": _reshape,
    "transpose": lambda file, node, x: Out(file.node("Transpose", file.read(x), perm=list(node.options["order"]))),
    "broadcast_to": _broadcast,
    "where": _where,
    "sum": _reduced("ReduceSum"),
    "mean": _reduced("ReduceMean"),
    "max": _reduced("ReduceMax"),
    "min": _reduced("ReduceMin"),
    "astype": lambda file, node, x: Out(_as(file, x, node.output.dtype)),
    "getitem": _getitem,
}
