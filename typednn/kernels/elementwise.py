"""What the fast kernels of elementwise ops share: the schedule, and expressions that keep NaN.

Halide's comparisons and exponentials may assume that nothing is NaN; tests of the bits may not. Arguments called ``hl`` are the module
``halide``, others are its expressions of float32.
"""

from typing import Any

from typednn.engines import Array, Cpu, nan

ELEMENTS = Array("elements", flat=True)

# Up to so many elements NumPy has its result, of a few operations, before a kernel is called.
SMALL = 2048

# Threads take turns at pieces of this many elements, and only where there are several pieces for each: waking one costs some microseconds.
PIECE = 1 << 14
CHEAP = 1 << 17
DEAR = 1 << 15  # where an element costs an exponential or a logarithm


def scheduled(hl: Any, cpu: Cpu, y: Any, i: Any, size: Any, parallel_from: int = CHEAP) -> Any:
    """``y`` along its one axis ``i`` of ``size``: whole vectors, and several threads from ``parallel_from`` elements on."""
    several = y.specialize(size >= parallel_from)
    piece = hl.Var("piece")
    several.split(i, piece, i, PIECE, hl.TailStrategy.ShiftInwards).vectorize(i, cpu.lanes).parallel(piece)
    # Below a vector's length the tail is guarded; above, the last vector overlaps the one before.
    y.specialize(size >= cpu.lanes).vectorize(i, cpu.lanes, hl.TailStrategy.ShiftInwards)
    y.vectorize(i, cpu.lanes, hl.TailStrategy.GuardWithIf)
    return y


def is_positive(hl: Any, x: Any) -> Any:
    """x > 0, and not NaN."""
    # Positive numbers up to infinity are the bit patterns 1 to 0x7F800000.
    return hl.reinterpret(hl.UInt(32), x) - hl.u32(1) < hl.u32(0x7F800000)


def times_slope(hl: Any, next_grad: Any, slope: Any) -> Any:
    """next_grad·slope, for a slope that only rounding makes 0: there an infinite ``next_grad`` stays what it is.

    Else the last digit of y would decide between infinity and NaN.
    """
    # As order, not as equality: the compiler would see the infinity, and assume that there is none. NaN is above it.
    endless = (hl.reinterpret(hl.Int(32), next_grad) & hl.i32(0x7FFFFFFF)) > hl.i32(0x7F7FFFFF)
    rounded = (hl.reinterpret(hl.Int(32), slope) & hl.i32(0x7FFFFFFF)) < hl.i32(1)
    return hl.select(endless & rounded, next_grad, next_grad * slope)


def decay(hl: Any, x: Any) -> Any:
    """eˣ for x <= 0, e^-∞ = 0 and eᴺᵃᴺ = NaN. Denormal results become 0."""
    return hl.select(nan.is_nan(hl, x), x, hl.exp(hl.max(x, hl.f32(-104))))
