"""Compact linear in Halide: weights are widened in registers, so a row of x takes as long as reading them.

Some weights are read, and used for every row, before the next ones. For many rows widening them all once, for a product
by BLAS, is less.
"""

from __future__ import annotations

from typednn.arrays import Array1, Array2, IntArray2
from typednn.engines import Array, Cpu, Kernel, empty, hl, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.activations import IDENTITY
from typednn.kernels.linear.cpu import ROWS_A_READ
from typednn.kernels.linear.schedules import WEIGHTS, in_tasks, outputs_at_a_time, row_products

MANY = 128  # rows from which the reference is as fast


def plan(x: Array2, weight: IntArray2, scale: Array1 | None, bias: Array1 | None) -> Kernel | None:
    """The kernel of `forward`; None for many rows, or another dtype than float32."""
    if x.shape[0] >= MANY or x.dtype != FLOAT32:
        return None
    streamed = x.shape[0] <= ROWS_A_READ and weight.size >= WEIGHTS
    return _forward[weight.shape, scale is not None, bias is not None, streamed]


def forward(planned: Kernel, x: Array2, weight: IntArray2, scale: Array1 | None, bias: Array1 | None) -> Array2:
    """y (batch, out_features)."""
    y: Array2 = empty((x.shape[0], weight.shape[0]), x.dtype)
    planned.call(x, weight, *(each for each in (scale, bias) if each is not None), y)
    return y


class _Widened:
    """Weights as float32 expressions."""

    def __init__(self, weight: hl.ImageParam, scaled: bool) -> None:
        self.weight, self.scaled = weight, scaled

    def __getitem__(self, at: tuple[hl.Expr | int, ...]) -> hl.Expr:
        each = self.weight[at]
        if self.scaled:
            return hl.cast(hl.Float(32), each)
        return hl.reinterpret(hl.Float(32), hl.cast(hl.UInt(32), each) << 16)


def build(
    cpu: Cpu,
    x: hl.ImageParam,
    weight: hl.ImageParam,
    *others: hl.ImageParam,
    in_features: int,
    out_features: int,
    scaled: bool,
    biased: bool,
    streamed: bool,
) -> hl.Func:
    """y[o, b] = scale[o]·Σ_i x[i, b]·weight[i, o] + bias[o]: lanes over i."""
    scale, bias = others[:1] if scaled else (), others[scaled:] if biased else ()
    wide = _Widened(weight, scaled)
    y, outer, b = row_products(cpu, "y", x, wide, bias, in_features, out_features, IDENTITY, scale, streamed)
    outputs = 1 if streamed else outputs_at_a_time(cpu, out_features)
    return in_tasks(y, outer, b, in_features, outputs, x.dim(1).extent() * in_features * out_features >= WEIGHTS)


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
