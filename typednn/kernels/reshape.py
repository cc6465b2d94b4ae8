"""Reshape: the same numbers in the same order, under another shape.

y = x, read as ``shape``       dx = dy, read as x's shape

Any shape; as many numbers. A view where the layout allows one, else a copy. No arithmetic.
"""

from typing import Any, Final

from typednn.kernels.op import op


def _reference(x: Any, shape: tuple[int, ...]) -> Any:
    """``x`` under ``shape``, one size of which may be -1."""
    return x.reshape(shape)


reshape: Final = op("reshape", _reference, flops=0)
