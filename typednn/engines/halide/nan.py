"""NaN in kernels. Halide's arithmetic may assume that there is none: ``hl.max(x, 0)`` gives 0 for NaN, and
``hl.is_nan`` of what was computed may be folded away. A test of the bits is kept, and its cost is too small to measure.

Arguments are Halide expressions of float32 or float64. Mind also that Halide's ``exp``, ``log`` and ``tanh`` lose
infinities and NaN; `exp` here keeps them.
"""

from typing import Any


def is_nan(hl: Any, x: Any) -> Any:
    """Whether ``x`` is NaN."""
    return bits(hl, x) > infinity(hl, x)


def type_of(x: Any) -> Any:
    """The type of ``x``: an expression, a parameter, or a Func at a place, which has none of its own."""
    return (x + 0).type()


def bits(hl: Any, x: Any) -> Any:
    """The bits of |x| as a signed integer. It grows with |x|; infinity comes after all numbers, and NaN
    after infinity.
    """
    integer = hl.Int(type_of(x).bits())
    return hl.reinterpret(integer, x) & integer.max()


def infinity(hl: Any, x: Any) -> Any:
    """The `bits` of infinity, of the type of ``x``."""
    return hl.i64(0x7FF0000000000000) if type_of(x).bits() == 64 else hl.i32(0x7F800000)


def maximum(hl: Any, x: Any, y: Any) -> Any:
    """As numpy.maximum: NaN where either is."""
    return hl.select(is_nan(hl, x), x, hl.select(is_nan(hl, y), y, hl.max(x, y)))


def minimum(hl: Any, x: Any, y: Any) -> Any:
    """As numpy.minimum: NaN where either is."""
    return hl.select(is_nan(hl, x), x, hl.select(is_nan(hl, y), y, hl.min(x, y)))


def relu(hl: Any, x: Any) -> Any:
    """max(x, 0), and NaN for NaN."""
    return hl.select(is_nan(hl, x), x, hl.max(x, 0))


def exp(hl: Any, x: Any) -> Any:
    """eˣ, with eᴺᵃᴺ = NaN, e^∞ = ∞ and e^-∞ = 0."""
    # Beyond these numbers the result is 0, and infinite, which Halide's own exp gives there.
    real = type_of(x)
    lowest, highest = (hl.cast(real, hl.f64(end)) for end in ((-746, 710) if real.bits() == 64 else (-104, 89)))
    return hl.select(is_nan(hl, x), x, hl.exp(hl.clamp(x, lowest, highest)))
