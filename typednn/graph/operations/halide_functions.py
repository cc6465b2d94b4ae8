"""Functions of numbers in Halide, where its own are inexact or lose NaN, infinities or the sign of 0.

Numbers are float32 or float64, in strict arithmetic.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import Final

from typednn.engines import hl, nan, type_of
from typednn.kernels import linear_units, pointwise
from typednn.kernels.elementwise import constant


def infinite(x: hl.Expr) -> hl.Expr:
    """Infinity, of the type of ``x``."""
    return hl.reinterpret(type_of(x), nan.infinity(x))


def _largest(x: hl.Expr) -> hl.Expr:
    return hl.reinterpret(type_of(x), nan.infinity(x) - 1)


def _nan(x: hl.Expr) -> hl.Expr:
    return hl.reinterpret(type_of(x), nan.infinity(x) + 1 + (1 << (50 if type_of(x).bits() == 64 else 21)))


# ------------------------------------------------------------------ of one number


def negative(x: hl.Expr) -> hl.Expr:
    """-x, by its sign alone: the negative of 0 is -0."""
    unsigned = hl.UInt(type_of(x).bits())
    return hl.reinterpret(type_of(x), hl.reinterpret(unsigned, x) ^ (hl.cast(unsigned, 1) << (type_of(x).bits() - 1)))


def absolute(x: hl.Expr) -> hl.Expr:
    """|x|, by its bits but the sign's; Halide's may take 0 to -0."""
    return hl.reinterpret(type_of(x), nan.bits(x))


def exp2(x: hl.Expr) -> hl.Expr:
    """2ˣ: the whole part goes to the exponent's bits, so that large x keep their digits."""
    double = type_of(x).bits() == 64
    integer = hl.Int(type_of(x).bits())
    lowest, highest, bias, digits = (-1022, 1023, 1023, 52) if double else (-126, 127, 127, 23)
    whole = hl.clamp(hl.round(hl.clamp(x, lowest - 100, highest + 2)), lowest, highest)
    power = hl.reinterpret(type_of(x), (hl.cast(integer, whole) + bias) << digits)
    return hl.select(nan.is_nan(x), x, nan.exp((x - whole) * constant(x, math.log(2))) * power)


def log(x: hl.Expr) -> hl.Expr:
    """log x, -∞ at 0 and NaN below."""
    smallest, places = (2.0**-126, 24) if type_of(x).bits() == 32 else (2.0**-1022, 54)
    # Halide's is not right for denormal numbers.
    is_small = x < constant(x, smallest)
    normal = hl.select(is_small, x * constant(x, 2.0**places), x)
    finite = hl.log(hl.clamp(normal, constant(x, smallest), _largest(x)))
    finite -= hl.select(is_small, constant(x, places * math.log(2)), constant(x, 0))
    inside = hl.select(nan.bits(x) == 0, -infinite(x), x == infinite(x), x, finite)
    return hl.select(nan.is_nan(x), x, hl.select(x < 0, _nan(x), inside))


def log2(x: hl.Expr) -> hl.Expr:
    """log₂ x = log x / log 2."""
    return log(x) * constant(x, 1 / math.log(2))


def log1p(x: hl.Expr) -> hl.Expr:
    """log(1 + x): the error of 1 + x is in the quotient too, and cancels out."""
    above = hl.strict_float(x + constant(x, 1))
    quotient = log(above) * (x / hl.strict_float(above - constant(x, 1)))
    return hl.select(nan.is_nan(x) | (above == 1) | (x == infinite(x)), x, quotient)


def tanh(x: hl.Expr) -> hl.Expr:
    """Tanh x, and -0 at -0."""
    return hl.select(nan.bits(x) == 0, x, pointwise.tanh.formulas[0].on_numbers(x))


def expm1(x: hl.Expr) -> hl.Expr:
    """eˣ - 1 = tanh(x/2)·(eˣ + 1), which loses no digits near 0."""
    return tanh(x * constant(x, 0.5)) * (nan.exp(x) + constant(x, 1))


# erf x = 2/√π·x·(1 - x²/3 + x⁴/10 - ...), to the last digit up to |x| = 1/2.
_ERF: Final = tuple((-1) ** k * 2 / math.sqrt(math.pi) / (math.factorial(k) * (2 * k + 1)) for k in range(13))


def erf(x: hl.Expr) -> hl.Expr:
    """A series for small x; beyond, 1 - 2Φ(-√2·|x|), with the tail of the normal distribution that `gelu` has."""
    square, size = x * x, hl.abs(x)
    terms = [constant(x, factor) for factor in reversed(_ERF[: 13 if type_of(x).bits() == 64 else 7])]
    near = x * reduce(lambda value, factor: value * square + factor, terms)
    t = hl.clamp(size, constant(x, 0.25), constant(x, 7.0)) * constant(x, math.sqrt(2))
    tail: hl.Expr = linear_units.gelu.formulas[0].on_numbers(-t)
    far = constant(x, 1) + tail * constant(x, 2) / t
    return hl.select(nan.is_nan(x), x, hl.select(size < constant(x, 0.5), near, hl.select(x < 0, -far, far)))


# ------------------------------------------------------------------ of two numbers


def power(x: hl.Expr, y: hl.Expr) -> hl.Expr:
    """xʸ, in double precision."""
    double = hl.Float(64)
    return hl.cast(type_of(x), hl.pow(hl.cast(double, x), hl.cast(double, y)))


def root(x: hl.Expr) -> hl.Expr:
    """x^½, which is the square root but at -0, where it is 0, and at -∞, where it is ∞."""
    found = hl.select(x == -infinite(x), infinite(x), hl.sqrt(x))
    return hl.select(nan.bits(x) == 0, constant(x, 0), found)


def maximum(x: hl.Expr, y: hl.Expr) -> hl.Expr:
    """The larger one, NaN where either is: in strict arithmetic NaN differs from itself.

    The sum of two NaN keeps the two selections apart, so that the second is one instruction, the processor's maximum.
    """
    x = hl.cast(type_of(x), x)  # a Func at a place would be compared as an object
    return hl.select(x != x, x + x, hl.select(x > y, x, y))


def minimum(x: hl.Expr, y: hl.Expr) -> hl.Expr:
    """The smaller one, NaN where either is."""
    x = hl.cast(type_of(x), x)
    return hl.select(x != x, x + x, hl.select(x < y, x, y))
