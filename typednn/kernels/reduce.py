"""Reduce: a sum over axes, divided by a number.

y = Σ x / divisor

x any shape; divisor a number, or an array of rank 0. Summed in double precision, as a float32 sum over a large batch
loses digits. Over some axes y has x's dtype; over all of them, ``axes`` None, it is a float64 of rank 0. One addition
per number.
"""

from typing import Any, Final

import numpy as np

from typednn.kernels import sums
from typednn.kernels.op import Engine, op
from typednn.kernels.totals import sum_of


def _reference(x: Any, axes: tuple[int, ...] | None, divisor: Any) -> Any:
    """Σ x / divisor, over ``axes``."""
    return (x.reshape(-1).sum(dtype=np.float64) if axes is None else sums.over(x, axes)) / divisor


def _in_a_kernel(x: Any, axes: None, divisor: Any) -> Any:
    return sum_of(x) / divisor


def _covers(x: Any, axes: tuple[int, ...] | None, divisor: Any) -> bool:
    return axes is None


reduce: Final = op("reduce", _reference, Engine("halide", _in_a_kernel, "x", sizes=_covers), flops=1)
