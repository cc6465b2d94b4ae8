"""A chain of small affine maps on few rows of NumPy's float32 arrays: one kernel, one call."""

from __future__ import annotations

from functools import cache
from typing import Any

from typednn.engines import Array, Kernel, empty, kernel, record
from typednn.kernels.linear import schedules
from typednn.kernels.linear.cpu import FEW_ROWS
from typednn.kernels.linear_chain.layout import Layout

__all__ = ["FEW_ROWS", "forward"]


def forward(x: Any, layout: Layout, *parameters: Any) -> Any:
    """y (batch, features_n)."""
    y = empty((x.shape[0], layout.features[-1]))
    _forward(layout).call(x, *parameters, y)
    record("linear_chain.forward", "halide")
    return y


@cache
def _forward(layout: Layout) -> Kernel:
    parameters: list[Array] = []
    for before, after, biased in zip(layout.features, layout.features[1:], layout.biased, strict=False):
        parameters += [Array(after, before, steady=True), *([Array(after, steady=True)] if biased else [])]
    return kernel(
        "linear_chain.forward",
        schedules.chain,
        inputs=(Array("batch", layout.features[0]), *parameters),
        outputs=(Array("batch", layout.features[-1]),),
        options={"layout": layout},
    )
