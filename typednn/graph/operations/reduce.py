"""How many numbers become one: a row each."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, final

from typednn.engines import hl
from typednn.engines.cuda_formula import FUNCTIONS as CUDA
from typednn.graph.operations import halide_functions as halide
from typednn.graph.operations.operation import Operation


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ReduceRow:
    """All that is known of a reduction.

    ``value`` takes an array and the axes that go. ``halide`` takes two expressions, what is
    reduced so far and a number; ``cuda`` is the same in C++, where they are {0} and {1}. ``start`` is what of no
    numbers is left; an infinite one is no result, so that such a reduction refuses axes of size 0. ``onnx`` is ONNX's
    operator.
    """

    value: Callable[[Any, tuple[int, ...]], Any]
    halide: Callable[[hl.Expr, hl.Expr], hl.Expr]
    cuda: str
    start: float
    onnx: str

    @property
    def is_total(self) -> bool:
        """Whether no numbers have a result too. Of many numbers it is computed in double precision, as each step may
        round.
        """
        return math.isfinite(self.start)


@final
class Reduce(Operation):
    """How the numbers along some axes become one."""

    row: ReduceRow

    SUM = ReduceRow(
        value=lambda x, axes: x.sum(axis=axes, dtype=x.dtype),
        halide=lambda x, y: x + y,
        cuda="{0} + {1}",
        start=0.0,
        onnx="ReduceSum",
    )
    PROD = ReduceRow(
        value=lambda x, axes: x.prod(axis=axes, dtype=x.dtype),
        halide=lambda x, y: x * y,
        cuda="{0} * {1}",
        start=1.0,
        onnx="ReduceProd",
    )
    MAX = ReduceRow(
        value=lambda x, axes: x.max(axis=axes),
        halide=halide.maximum,
        cuda=CUDA["maximum"],
        start=-math.inf,
        onnx="ReduceMax",
    )
    MIN = ReduceRow(
        value=lambda x, axes: x.min(axis=axes),
        halide=halide.minimum,
        cuda=CUDA["minimum"],
        start=math.inf,
        onnx="ReduceMin",
    )
