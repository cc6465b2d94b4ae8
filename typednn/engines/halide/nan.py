"""NaN in kernels. Halide's arithmetic may assume that there is none: ``hl.max(x, 0)`` gives 0 for NaN, and ``hl.is_nan`` of what was
computed may be folded away. A test of the bits is kept, and its cost is too small to measure.

Arguments are Halide expressions of float32. Mind also that Halide's ``exp``, ``log`` and ``tanh`` lose infinities and NaN; `exp` here
keeps them.
"""

from typing import Any


def is_nan(hl: Any, x: Any) -> Any:
    """Whether ``x`` is NaN."""
    return (hl.reinterpret(hl.Int(32), x) & hl.i32(0x7FFFFFFF)) > hl.i32(0x7F800000)


def maximum(hl: Any, x: Any, y: Any) -> Any:
    """As numpy.maximum: NaN where either is."""
    return hl.select(is_nan(hl, x), x, hl.select(is_nan(hl, y), y, hl.max(x, y)))


def relu(hl: Any, x: Any) -> Any:
    """max(x, 0), and NaN for NaN."""
    return hl.select(is_nan(hl, x), x, hl.max(x, hl.f32(0)))


def exp(hl: Any, x: Any) -> Any:
    """eˣ, with eᴺᵃᴺ = NaN, e^∞ = ∞ and e^-∞ = 0."""
    finite = hl.exp(hl.clamp(x, hl.f32(-104), hl.f32(88.72283)))
    bounded = hl.select(x > hl.f32(88.72283), hl.f32(float("inf")), hl.select(x < hl.f32(-104), hl.f32(0), finite))
    return hl.select(is_nan(hl, x), x, bounded)
