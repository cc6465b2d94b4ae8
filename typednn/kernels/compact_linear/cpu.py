"""Compact linear in Halide: weights are widened in registers, so a row of x takes as long as reading them.

Some weights are read, and used for every row, before the next ones. For many rows widening them all once, for a product
by BLAS, is less.
"""

from typing import Any

from typednn.arrays import Array2
from typednn.engines import Array, Cpu, Kernel, empty, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.activations import IDENTITY
from typednn.kernels.linear.cpu import ROWS_A_READ
from typednn.kernels.linear.schedules import WEIGHTS, in_tasks, outputs_at_a_time, row_products

MANY = 128  # rows from which the reference is as fast


def plan(x: Array2, weight: Any, scale: Any, bias: Any) -> Kernel | None:
    """The kernel of `forward`; None for many rows, or another dtype than float32."""
    if x.shape[0] >= MANY or x.dtype != FLOAT32:
        return None
    streamed = x.shape[0] <= ROWS_A_READ and weight.size >= WEIGHTS
    return _forward[weight.shape, scale is not None, bias is not None, streamed]


def forward(planned: Kernel, x: Any, weight: Any, scale: Any, bias: Any) -> Any:
    """y (batch, out_features)."""
    y = empty((x.shape[0], weight.shape[0]), x.dtype)
    planned.call(x, weight, *(each for each in (scale, bias) if each is not None), y)
    return y


class _Widened:
    """Weights as float32 expressions."""

    def __init__(self, hl: Any, weight: Any, scaled: bool) -> None:
        self.hl, self.weight, self.scaled = hl, weight, scaled

    def __getitem__(self, at: Any) -> Any:
        hl, each = self.hl, self.weight[at]
        if self.scaled:
            return hl.cast(hl.Float(32), each)
        return hl.reinterpret(hl.Float(32), hl.cast(hl.UInt(32), each) << 16)


def build(
    hl: Any,
    cpu: Cpu,
    x: Any,
    weight: Any,
    *others: Any,
    in_features: int,
    out_features: int,
    scaled: bool,
    biased: bool,
    streamed: bool,
) -> Any:
    """y[o, b] = scale[o]·Σ_i x[i, b]·weight[i, o] + bias[o]: lanes over i."""
    scale, bias = others[:1] if scaled else (), others[scaled:] if biased else ()
    wide = _Widened(hl, weight, scaled)
    y, outer, b = row_products(hl, cpu, "y", x, wide, bias, in_features, out_features, IDENTITY, scale, streamed)
    outputs = 1 if streamed else outputs_at_a_time(cpu, out_features)
    return in_tasks(hl, y, outer, b, in_features, outputs, x.dim(1).extent() * in_features * out_features >= WEIGHTS)


@specialised("compact_linear")
def _forward(weight: tuple[int, int], scaled: bool, biased: bool, streamed: bool) -> Kernel:
    out_features, in_features = weight
    each = Array(out_features, parameter=True)
    return kernel(
        "compact_linear.forward",
        build,
        inputs=(
            Array("batch", in_features),
            Array(*weight, dtype="int8" if scaled else "uint16", parameter=True),
            *[each] * (scaled + biased),
        ),
        outputs=(Array("batch", out_features),),
        options={
            "in_features": in_features,
            "out_features": out_features,
            "scaled": scaled,
            "biased": biased,
            "streamed": streamed,
        },
    )
