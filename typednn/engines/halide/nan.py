"""NaN in kernels. Halide's arithmetic may assume that there is none: ``hl.max(x, 0)`` gives 0 for NaN, and
``hl.is_nan`` of what was computed may be folded away. A test of the bits is kept, and its cost is too small to measure.

Arguments are Halide expressions of float32 or float64. Mind also that Halide's ``exp``, ``log`` and ``tanh`` lose
infinities and NaN; `exp` here keeps them.
"""

from __future__ import annotations

from typednn.engines.halide import language as hl


def is_nan(x: hl.Expr) -> hl.Expr:
    """Whether ``x`` is NaN."""
    return bits(x) > infinity(x)


def type_of(x: hl.Expr) -> hl.Type:
    """The type of ``x``: an expression, a parameter, or a Func at a place, which has none of its own."""
    return (x + 0).type()


def bits(x: hl.Expr) -> hl.Expr:
    """The bits of |x| as a signed integer. It grows with |x|; infinity comes after all numbers, and NaN
    after infinity.
    """
    integer = hl.Int(type_of(x).bits())
    return hl.reinterpret(integer, x) & integer.max()


def infinity(x: hl.Expr) -> hl.Expr:
    """The `bits` of infinity, of the type of ``x``."""
    return hl.i64(0x7FF0000000000000) if type_of(x).bits() == 64 else hl.i32(0x7F800000)


def maximum(x: hl.Expr, y: hl.Expr) -> hl.Expr:
    """As numpy.maximum: NaN where either is."""
    return hl.select(is_nan(x), x, hl.select(is_nan(y), y, hl.max(x, y)))


def minimum(x: hl.Expr, y: hl.Expr) -> hl.Expr:
    """As numpy.minimum: NaN where either is."""
    return hl.select(is_nan(x), x, hl.select(is_nan(y), y, hl.min(x, y)))


def relu(x: hl.Expr) -> hl.Expr:
    """max(x, 0), and NaN for NaN."""
    return hl.select(is_nan(x), x, hl.max(x, 0))


def exp(x: hl.Expr) -> hl.Expr:
    """eˣ, with eᴺᵃᴺ = NaN, e^∞ = ∞ and e^-∞ = 0."""
    # Beyond these numbers the result is 0, and infinite, which Halide's own exp gives there.
    real = type_of(x)
    lowest, highest = (hl.cast(real, hl.f64(end)) for end in ((-746, 710) if real.bits() == 64 else (-104, 89)))
    return hl.select(is_nan(x), x, hl.exp(hl.clamp(x, lowest, highest)))
