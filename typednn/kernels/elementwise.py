"""What the fast kernels of elementwise ops share: the schedule, and expressions that keep NaN.

Halide's comparisons and exponentials may assume that nothing is NaN; tests of the bits may not. Arguments are
expressions of float32 or float64.
"""

from __future__ import annotations

from typednn.engines import Array, Cpu, hl, nan, type_of

ELEMENTS = Array("elements", flat=True)

# Elements up to which NumPy computes a few operations in less time than calling a kernel takes.
SMALL = 2048

# Elements of one task. Waking a thread costs some microseconds: a kernel uses several from PARALLEL_FROM elements on.
PIECE = 1 << 14
PARALLEL_FROM = 1 << 17
PARALLEL_FROM_EXP = 1 << 15  # the same, where each element takes an exponential or a logarithm


def scheduled(cpu: Cpu, y: hl.Func, i: hl.Var, size: hl.Expr, parallel_from: int = PARALLEL_FROM) -> hl.Func:
    """``y`` along its one axis ``i`` of ``size``: whole vectors, and several threads from ``parallel_from`` elements
    on.
    """
    piece, inwards = hl.Var("piece"), hl.TailStrategy.ShiftInwards
    y.specialize(size >= parallel_from).split(i, piece, i, PIECE, inwards).vectorize(i, cpu.lanes).parallel(piece)
    # Below a vector's length the tail is guarded; above, the last vector overlaps the one before.
    y.specialize(size >= cpu.lanes).vectorize(i, cpu.lanes, inwards)
    return y.vectorize(i, cpu.lanes, hl.TailStrategy.GuardWithIf)


def constant(x: hl.Expr, value: float) -> hl.Expr:
    """``value`` as a number of the type of ``x``."""
    return hl.cast(type_of(x), hl.f64(value))


def is_positive(x: hl.Expr) -> hl.Expr:
    """x > 0, and not NaN."""
    # Positive numbers up to infinity are the bit patterns from 1 to infinity's.
    unsigned = hl.UInt(type_of(x).bits())
    return hl.reinterpret(unsigned, x) - 1 < hl.cast(unsigned, nan.infinity(x))


def is_infinite(x: hl.Expr) -> hl.Expr:
    """Whether x is infinite. NaN counts as infinite in kernels.

    Bits are compared by order: the compiler would recognise a test for infinity and assume it false.
    """
    return nan.bits(x) > nan.infinity(x) - 1


def times_slope(next_grad: hl.Expr, slope: hl.Expr) -> hl.Expr:
    """next_grad·slope, for a slope that only rounding makes 0: an infinite ``next_grad`` then stays infinite.

    Otherwise the last digit of y would decide between infinity and NaN.
    """
    rounded = nan.bits(slope) < 1
    return hl.select(is_infinite(next_grad) & rounded, next_grad, next_grad * slope)


def decay(x: hl.Expr) -> hl.Expr:
    """eˣ for x <= 0, e^-∞ = 0 and eᴺᵃᴺ = NaN. In float32 denormal results become 0."""
    return hl.select(nan.is_nan(x), x, hl.exp(hl.max(x, -746 if type_of(x).bits() == 64 else -104)))
