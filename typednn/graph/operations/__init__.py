"""Which function a node of a number, of two numbers or of a reduction computes: one row for each, and all that is known
of it.

A row has the value in NumPy, the derivative in tensors, the expression in Halide and in CUDA C++, ONNX's operator, the
dtypes that it takes and what it costs. The interpreter, both engines, the tape, the messages of tensors and ONNX read
the rows; none has a list of its own. So a new function is a row of `functions`. Reductions are in `reduce`; their
derivatives move axes, and stand in `typednn.graph.derivatives`.
"""

from typing import Final

from typednn.graph.kinds import Kind
from typednn.graph.operations.functions import POWERS, Binary, Unary
from typednn.graph.operations.operation import Operation
from typednn.graph.operations.reduce import Reduce

OPERATIONS: Final[dict[int, type[Operation]]] = {Kind.UNARY: Unary, Kind.BINARY: Binary, Kind.REDUCE: Reduce}
"""What the nodes of a kind choose from."""

__all__ = ["OPERATIONS", "POWERS", "Binary", "Reduce", "Unary"]
