"""Several affine maps and activations in a row, forward alone."""

from __future__ import annotations

from typing import Any

from typednn.arrays import Array2
from typednn.engines import fast, record
from typednn.errors import DTypeError, ShapeError
from typednn.kernels.linear import schedules
from typednn.kernels.linear_chain import cpu, reference
from typednn.kernels.linear_chain.layout import Layout

__all__ = ["forward"]

MOST_ROWS = cpu.FEW_ROWS  # for more, copying each map's weights pays
MOST_WEIGHTS = schedules.WEIGHTS  # of one map; for more, a second thread pays


def forward(x: Array2, layout: Layout, *parameters: Any) -> Array2:
    """y (batch, features_n); ``parameters`` are each map's weight, and its bias where it has one."""
    if x.shape[0] <= MOST_ROWS and fast(x):
        try:
            y: Array2 = cpu.forward(x, layout, *parameters)
            return y
        except (DTypeError, ShapeError):  # the kernel looks at parameters when they change, and these it can't take
            pass
    record("linear_chain.forward", "reference")
    return reference.forward(x, layout, *parameters)
