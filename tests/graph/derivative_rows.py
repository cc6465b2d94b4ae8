"""One row for each unary and binary function, reduction and kind of node: how it is tried against
central differences.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from typednn.graph.custom import Function
from typednn.graph.kinds import Kind
from typednn.graph.nodes import binary, broadcast_to, cast_to, pad, permute, reduce, reshape, to_device, unary
from typednn.graph.operations import Binary, Reduce, Unary
from typednn.graph.tensor import AnyTensor


class Row(NamedTuple):
    """``build`` of inputs between ``low`` and ``high``, away from ``kinks`` by 0.01; ``by`` names the inputs that have
    a derivative.
    """

    build: Callable[..., AnyTensor]
    inputs: int = 1
    low: float = -2.0
    high: float = 2.0
    kinks: tuple[float, ...] = ()
    by: tuple[int, ...] = (0,)


def _unary(operation: Unary, **changes: object) -> Row:
    return Row(lambda x: unary(operation, x), **changes)  # type: ignore[arg-type]


def _binary(operation: Binary, **changes: object) -> Row:
    return Row(lambda x, y: binary(operation, x, y), inputs=2, **({"by": (0, 1)} | changes))  # type: ignore[arg-type]


POSITIVE = {"low": 0.5, "high": 3.0}
HALVES = (-2.0, -1.0, 0.0, 1.0, 2.0)

UNARY: dict[Unary, Row | None] = {
    Unary.NEGATIVE: _unary(Unary.NEGATIVE),
    Unary.BITWISE_NOT: None,  # of integers and booleans
    Unary.EXP: _unary(Unary.EXP),
    Unary.EXP2: _unary(Unary.EXP2),
    Unary.LOG: _unary(Unary.LOG, **POSITIVE),
    Unary.LOG2: _unary(Unary.LOG2, **POSITIVE),
    Unary.RECIPROCAL: _unary(Unary.RECIPROCAL, **POSITIVE),
    Unary.SQRT: _unary(Unary.SQRT, **POSITIVE),
    Unary.SIN: _unary(Unary.SIN),
    Unary.COS: _unary(Unary.COS),
    Unary.FLOOR: _unary(Unary.FLOOR, kinks=HALVES),
    Unary.TRUNC: _unary(Unary.TRUNC, kinks=HALVES),
    Unary.ABS: _unary(Unary.ABS, kinks=(0.0,)),
    Unary.TANH: _unary(Unary.TANH),
    Unary.ERF: _unary(Unary.ERF),
    Unary.LOG1P: _unary(Unary.LOG1P, **POSITIVE),
    Unary.EXPM1: _unary(Unary.EXPM1),
}

BINARY: dict[Binary, Row | None] = {
    Binary.ADD: _binary(Binary.ADD),
    Binary.SUBTRACT: _binary(Binary.SUBTRACT),
    Binary.MULTIPLY: _binary(Binary.MULTIPLY),
    Binary.DIVIDE: _binary(Binary.DIVIDE, **POSITIVE),
    Binary.POWER: _binary(Binary.POWER, **POSITIVE),
    Binary.MODULO: Row(lambda x, y: binary(Binary.MODULO, x, y * 0.1 + 3.5), inputs=2, low=0.1, high=3.0, by=(0, 1)),
    Binary.MAXIMUM: Row(lambda x, y: binary(Binary.MAXIMUM, x, y + 0.003), inputs=2, by=(0, 1)),
    Binary.MASKED: Row(lambda x, y: binary(Binary.MASKED, x > 0.0, y), inputs=2, kinks=(0.0,), by=(1,)),
    # they give booleans
    **dict.fromkeys((Binary.LESS, Binary.GREATER, Binary.GREATER_EQUAL, Binary.NOT_EQUAL, Binary.EQUAL)),
    **dict.fromkeys((Binary.LOGICAL_OR, Binary.LOGICAL_AND, Binary.LOGICAL_XOR)),  # of booleans
    # of integers
    **dict.fromkeys((Binary.BITWISE_OR, Binary.BITWISE_AND, Binary.BITWISE_XOR, Binary.LEFT_SHIFT, Binary.RIGHT_SHIFT)),
}

REDUCE: dict[Reduce, Row] = {
    Reduce.SUM: Row(lambda x: reduce(Reduce.SUM, x, -1)),
    Reduce.PROD: Row(lambda x: reduce(Reduce.PROD, x, -1)),
    Reduce.MAX: Row(lambda x: reduce(Reduce.MAX, x, 0)),
    Reduce.MIN: Row(lambda x: reduce(Reduce.MIN, x, 0)),
}


class _Cubed(Function):
    def forward(self, x: "np.ndarray[tuple[int, ...], np.dtype[np.float64]]") -> object:
        return x * x * x

    def backward(self, next_grad: AnyTensor, x: AnyTensor) -> AnyTensor:
        return next_grad * 3.0 * x * x


KINDS: dict[Kind, Row | None] = {
    Kind.CONST: None,  # no inputs
    Kind.LEAF: None,  # no inputs
    Kind.EXPAND: Row(lambda x: broadcast_to(reshape(x, (*x.shape, 1)), (2, *x.shape, 3))),
    Kind.PERMUTE: Row(lambda x: permute(x, (*range(1, x.ndim), 0))),
    Kind.RESHAPE: Row(lambda x: reshape(x, (x.size,))),
    Kind.PAD: Row(lambda x: pad(x, [(2, -1)] * x.ndim)),
    Kind.REDUCE: REDUCE[Reduce.SUM],
    Kind.CAST: Row(
        lambda x: cast_to(cast_to(x * 1e-3, np.float64), np.float64) * cast_to(cast_to(x, np.int64), np.float64),
        kinks=HALVES,
    ),
    Kind.UNARY: UNARY[Unary.TANH],
    Kind.BINARY: BINARY[Binary.MULTIPLY],
    Kind.TO_DEVICE: Row(lambda x: to_device(x, "cpu")),
    Kind.CUSTOM: Row(lambda x: _Cubed()(x)),
}

ROWS: dict[str, Row] = {
    each.name: row for table in (UNARY, BINARY, REDUCE, KINDS) for each, row in table.items() if row is not None
}
