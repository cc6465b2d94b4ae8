"""Weighted rows: each sample's numbers, times the weight of the sample.

y[i, …] = weight[i]·x[i, …], 0 where the weight is 0, whatever x is

x (batch, *features), weight (batch) of x's dtype. One multiplication for each number.
"""

from typing import Any, Final

from jaxtyping import Float

from typednn.arrays import AnyArray, Array1, namespace
from typednn.kernels.op import op


def _reference(
    x: Float[AnyArray, "batch *features"], weight: Float[Array1, " batch"]
) -> Float[AnyArray, "batch *features"]:
    """``x`` with row i times ``weight[i]``."""
    each: Any = weight.reshape(-1, *(1 for _ in x.shape[1:]))
    y: AnyArray = namespace(x).where(each == 0, 0, x) * each
    return y


weighted_rows: Final = op("weighted_rows", _reference, flops=1)
