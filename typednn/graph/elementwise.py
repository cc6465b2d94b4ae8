"""Functions of each number, with NumPy's names, or PyTorch's where NumPy has none. They make UNARY, BINARY and CAST
nodes, nothing else.

    y = sqrt(x)
    z = where(isnan(y), 0.0, maximum(y, -1.0))

The shape of the result is that of the input; two inputs broadcast. Dtypes stay as they are, truths are booleans.
Infinities, NaN and the sign of zero are NumPy's, except where a function says otherwise. What overflows on the way to a
result that doesn't is written otherwise.

Derivatives are those of the formulas, which have one at every number where the function has one. Where it has none,
``abs`` has 0, and ``maximum``, ``minimum`` and ``clip`` share it. Activations are in `typednn.graph.activations`.

Wrong dtypes are a `DTypeError`, sizes that don't broadcast a `ShapeError`, what is no tensor an `ArgumentError`.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DTypeError, explain
from typednn.graph.graph import GRAPH
from typednn.graph.kinds import Kind
from typednn.graph.nodes import as_tensor, binary, broadcast, cast_to, constant, divided, unary
from typednn.graph.operands import checked, like, masked, pair_of
from typednn.graph.operations import Binary, Unary
from typednn.graph.tensor import D2 as D
from typednn.graph.tensor import R2 as R
from typednn.graph.tensor import AnyTensor, Number, Operand, Tensor, registered


def stop_gradient(x: Tensor[R, D]) -> Tensor[R, D]:
    """``x``, of which no tape knows where it came from: its derivative ends here. JAX's ``stop_gradient``."""
    made: Tensor[R, D] = Tensor(
        GRAPH.push(Kind.RESHAPE, 0, GRAPH.slab.tag(checked("stop_gradient", x).id) >> 16 & 0xFF, x.shape, x.id)
    )
    if GRAPH.recorded is not None:
        GRAPH.recorded.discard(made.id)
    return made


# ------------------------------------------------------------------ one operation each


def negative(x: Tensor[R, D]) -> Tensor[R, D]:
    """-x."""
    return unary(Unary.NEGATIVE, checked("negative", x))


def abs(x: Tensor[R, D]) -> Tensor[R, D]:
    """The distance from 0. Its derivative at 0 is 0."""
    return unary(Unary.ABS, checked("abs", x))


def bitwise_not(x: Tensor[R, D]) -> Tensor[R, D]:
    """Each bit of an integer the other one; the opposite of a boolean."""
    return unary(Unary.BITWISE_NOT, checked("bitwise_not", x))


def exp(x: Tensor[R, D]) -> Tensor[R, D]:
    """eˣ."""
    return unary(Unary.EXP, checked("exp", x))


def exp2(x: Tensor[R, D]) -> Tensor[R, D]:
    """2ˣ."""
    return unary(Unary.EXP2, checked("exp2", x))


def expm1(x: Tensor[R, D]) -> Tensor[R, D]:
    """eˣ - 1, with all digits near 0."""
    return unary(Unary.EXPM1, checked("expm1", x))


def log(x: Tensor[R, D]) -> Tensor[R, D]:
    """The natural logarithm: -∞ at 0, NaN below."""
    return unary(Unary.LOG, checked("log", x))


def log2(x: Tensor[R, D]) -> Tensor[R, D]:
    """The logarithm to base 2."""
    return unary(Unary.LOG2, checked("log2", x))


def log1p(x: Tensor[R, D]) -> Tensor[R, D]:
    """log(1 + x), with all digits near 0."""
    return unary(Unary.LOG1P, checked("log1p", x))


def reciprocal(x: Tensor[R, D]) -> Tensor[R, D]:
    """1/x."""
    return unary(Unary.RECIPROCAL, checked("reciprocal", x))


def sqrt(x: Tensor[R, D]) -> Tensor[R, D]:
    """The square root: NaN below 0."""
    return unary(Unary.SQRT, checked("sqrt", x))


def sin(x: Tensor[R, D]) -> Tensor[R, D]:
    """The sine of an angle in radians."""
    return unary(Unary.SIN, checked("sin", x))


def cos(x: Tensor[R, D]) -> Tensor[R, D]:
    """The cosine of an angle in radians."""
    return unary(Unary.COS, checked("cos", x))


def tanh(x: Tensor[R, D]) -> Tensor[R, D]:
    """The hyperbolic tangent."""
    return unary(Unary.TANH, checked("tanh", x))


def erf(x: Tensor[R, D]) -> Tensor[R, D]:
    """The error function, 2/√π times the integral of exp(-t²) from 0 to x."""
    return unary(Unary.ERF, checked("erf", x))


def floor(x: Tensor[R, D]) -> Tensor[R, D]:
    """The largest whole number that is not above x; integers are their own. Its derivative is 0, as of
    all that round.
    """
    return unary(Unary.FLOOR, x) if is_floating(checked("floor", x).dtype) else x


def trunc(x: Tensor[R, D]) -> Tensor[R, D]:
    """The next whole number towards 0."""
    return unary(Unary.TRUNC, x) if is_floating(checked("trunc", x).dtype) else x


def add(x: Operand, y: Operand) -> AnyTensor:
    """x + y."""
    return binary(Binary.ADD, *pair_of("add", x, y))


def subtract(x: Operand, y: Operand) -> AnyTensor:
    """x - y."""
    return binary(Binary.SUBTRACT, *pair_of("subtract", x, y))


def multiply(x: Operand, y: Operand) -> AnyTensor:
    """x·y."""
    return binary(Binary.MULTIPLY, *pair_of("multiply", x, y))


def divide(x: Operand, y: Operand) -> AnyTensor:
    """x / y; integers are divided in float64, as NumPy does it."""
    if isinstance(x, int | float) and isinstance(y, int | float):
        pair_of("divide", x, y)  # says what is wrong
    return divided(x, y)


@registered
def floor_divide(x: Operand, y: Operand) -> AnyTensor:
    """The largest whole number that is not above x / y, in the dtype of both; of integers 0 where y is 0. Its
    derivative is 0.
    """
    a, b = pair_of("floor_divide", x, y)
    if not is_floating(a.dtype):
        return binary(Binary.DIVIDE, a, b)
    if a.dtype == np.float16:  # as NumPy, which divides them in float32
        return cast_to(floor_divide(cast_to(a, np.float32), cast_to(b, np.float32)), np.float16)
    # x less what it exceeds a multiple of y by is a whole number of y, up to rounding.
    infinite = isinf(b)
    below = masked((a < 0.0) != (b < 0.0), like(a, -1))
    exact = (a - binary(Binary.MODULO, a, masked(~infinite, b))) / b
    quotient = where(infinite & isfinite(a), masked(a != 0.0, below), round(exact))
    ratio = a / b
    # 0 has the sign of the ratio
    return stop_gradient(where(b != 0.0, where(quotient != 0.0, quotient, ratio * 0.0), ratio))


def power(x: Operand, y: Operand) -> AnyTensor:
    """x to the power of y. Integers take no negative powers."""
    if isinstance(x, Tensor) and x.dtype.kind in "iu" and isinstance(y, int) and y < 0:
        raise ArgumentError(explain("power", "integers have powers from 0 on", f"{y}", "cast x to a float dtype"), "y")
    return binary(Binary.POWER, *pair_of("power", x, y))


def mod(x: Operand, y: Operand) -> AnyTensor:
    """What x exceeds a multiple of y by, with the sign of y. By y its derivative is -floor(x/y)."""
    return binary(Binary.MODULO, *pair_of("mod", x, y))


def maximum(x: Operand, y: Operand) -> AnyTensor:
    """The larger of two numbers, NaN if one is. Equal ones share the derivative."""
    a, b = pair_of("maximum", x, y)
    return a | b if a.dtype.kind == "b" else binary(Binary.MAXIMUM, a, b)


def minimum(x: Operand, y: Operand) -> AnyTensor:
    """The smaller of two numbers, NaN if one is: the opposite of the larger of their opposites. Equal ones share the
    derivative.
    """
    a, b = pair_of("minimum", x, y)
    if a.dtype.kind == "b":
        return a & b
    # -x has no place among integers for the lowest of them; ~x, which is -x - 1, has.
    return -binary(Binary.MAXIMUM, -a, -b) if is_floating(a.dtype) else ~binary(Binary.MAXIMUM, ~a, ~b)


def equal(x: Operand, y: Operand) -> Tensor[Any, np.bool_]:
    """Whether x = y. NaN equals nothing."""
    return binary(Binary.EQUAL, *pair_of("equal", x, y))


def not_equal(x: Operand, y: Operand) -> Tensor[Any, np.bool_]:
    """Whether x ≠ y."""
    return binary(Binary.NOT_EQUAL, *pair_of("not_equal", x, y))


def less(x: Operand, y: Operand) -> Tensor[Any, np.bool_]:
    """Whether x < y. Nothing is less than NaN, nor greater."""
    return binary(Binary.LESS, *pair_of("less", x, y))


def less_equal(x: Operand, y: Operand) -> Tensor[Any, np.bool_]:
    """Whether x ≤ y."""
    return greater_equal(y, x)


def greater(x: Operand, y: Operand) -> Tensor[Any, np.bool_]:
    """Whether x > y."""
    return binary(Binary.GREATER, *pair_of("greater", x, y))


def greater_equal(x: Operand, y: Operand) -> Tensor[Any, np.bool_]:
    """Whether x ≥ y."""
    return binary(Binary.GREATER_EQUAL, *pair_of("greater_equal", x, y))


def bitwise_and(x: Operand, y: Operand) -> AnyTensor:
    """The bits that both have."""
    a, b = pair_of("bitwise_and", x, y)
    return a & b


def bitwise_or(x: Operand, y: Operand) -> AnyTensor:
    """The bits that one of them has."""
    a, b = pair_of("bitwise_or", x, y)
    return a | b


def bitwise_xor(x: Operand, y: Operand) -> AnyTensor:
    """The bits that exactly one of them has."""
    a, b = pair_of("bitwise_xor", x, y)
    return a ^ b


def left_shift(x: Operand, y: Operand) -> AnyTensor:
    """The bits of x, y places higher. y is below the number of bits."""
    return binary(Binary.LEFT_SHIFT, *pair_of("left_shift", x, y))


def right_shift(x: Operand, y: Operand) -> AnyTensor:
    """The bits of x, y places lower."""
    return binary(Binary.RIGHT_SHIFT, *pair_of("right_shift", x, y))


# ------------------------------------------------------------------ truths


def _truth(x: AnyTensor) -> AnyTensor:
    return x if x.dtype.kind == "b" else x != like(x, 0)


def logical_and(x: Operand, y: Operand) -> Tensor[Any, np.bool_]:
    """Whether neither is false, or 0."""
    a, b = pair_of("logical_and", x, y)
    return _truth(a) & _truth(b)


def logical_or(x: Operand, y: Operand) -> Tensor[Any, np.bool_]:
    """Whether one is neither false nor 0."""
    a, b = pair_of("logical_or", x, y)
    return _truth(a) | _truth(b)


def logical_xor(x: Operand, y: Operand) -> Tensor[Any, np.bool_]:
    """Whether exactly one is neither false nor 0."""
    a, b = pair_of("logical_xor", x, y)
    return _truth(a) ^ _truth(b)


def logical_not(x: Tensor[R, Any]) -> Tensor[R, np.bool_]:
    """Whether it is false, or 0."""
    return ~_truth(checked("logical_not", x))


def isnan(x: Tensor[R, Any]) -> Tensor[R, np.bool_]:
    """Whether it is NaN, which is what differs from itself."""
    return checked("isnan", x) != x


def isinf(x: Tensor[R, Any]) -> Tensor[R, np.bool_]:
    """Whether it is ∞ or -∞."""
    return abs(x) == like(x, math.inf) if is_floating(checked("isinf", x).dtype) else constant(False, np.bool_, x.shape)


def isfinite(x: Tensor[R, Any]) -> Tensor[R, np.bool_]:
    """Whether it is neither infinite nor NaN."""
    return (
        abs(x) < like(x, math.inf) if is_floating(checked("isfinite", x).dtype) else constant(True, np.bool_, x.shape)
    )


def isclose(
    x: Operand, y: Operand, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor[Any, np.bool_]:
    """Whether |x - y| ≤ atol + rtol·|y|, or both are the same infinity, or both NaN where ``equal_nan``."""
    a, b = pair_of("isclose", x, y)
    checked("isclose", a, floats=True)
    near = abs(a - b) <= abs(b) * rtol + atol
    close = (near & isfinite(b)) | (a == b)
    return close | (isnan(a) & isnan(b)) if equal_nan else close


# ------------------------------------------------------------------ choices


def where(condition: AnyTensor, x: Operand, y: Operand) -> AnyTensor:
    """``x`` where the condition, a tensor of booleans, is true, else ``y``. The derivative by what
    isn't chosen is 0.
    """
    checked("where", condition)
    if isinstance(x, int | float) and isinstance(y, int | float):
        cure = "write full((), 1.0) or cast the condition"
        raise ArgumentError(explain("where", "knows a dtype: one of two values is a tensor", f"{x} and {y}", cure))
    if condition.dtype.kind != "b":
        got = f"{condition.dtype}: {GRAPH.expression(condition.id)}"
        raise DTypeError(explain("where", "takes a condition of booleans", got, "compare it, as in x != 0"))
    if isinstance(y, int | float):
        return _chosen(condition, x, y)
    if isinstance(x, int | float):
        return _chosen(~condition, y, x)
    a, b = pair_of("where", x, y)
    if a.dtype != b.dtype:
        got = f"{a.dtype} and {b.dtype}: {GRAPH.expression(a.id)} and {GRAPH.expression(b.id)}"
        raise DTypeError(explain("where", "chooses between two tensors of one dtype", got, "cast one of them"))
    if condition.shape != a.shape:
        condition, a, b = broadcast("where", condition, a, b)
    if is_floating(a.dtype):
        # x - 0 is x, also if x is -0, which x + 0 would lose.
        return -masked(condition, -a) - masked(~condition, -b)
    left, right = masked(condition, a), masked(~condition, b)
    return left | right


def _chosen(condition: AnyTensor, x: Operand, number: float) -> AnyTensor:
    """``x``, which is no number of Python's, where the condition is true, else a number."""
    given = as_tensor(x, condition)
    if condition.shape != given.shape:
        condition, given = broadcast("where", condition, given)
    if not is_floating(given.dtype):
        return masked(condition, given) | masked(~condition, as_tensor(number, given))
    if number:
        return masked(condition, given) - masked(~condition, like(given, -number))
    return masked(condition, given) if math.copysign(1, number) > 0 else -masked(condition, -given)


def masked_fill(x: Tensor[R, D], mask: AnyTensor, value: Number) -> Tensor[R, D]:
    """``x``, but ``value`` where the mask is true."""
    keep = ~mask if checked("masked_fill", mask).dtype.kind == "b" else mask
    return where(keep, checked("masked_fill", x), value)


def clip(x: Tensor[R, D], lowest: Operand | None = None, highest: Operand | None = None) -> Tensor[R, D]:
    """min(max(x, lowest), highest); a bound that is None is none. NaN stays."""
    found: AnyTensor = checked("clip", x)
    if lowest is not None:
        found = maximum(found, lowest)
    return found if highest is None else minimum(found, highest)


clamp: Final = clip

# ------------------------------------------------------------------ compositions


def square(x: Tensor[R, D]) -> Tensor[R, D]:
    """x²."""
    return checked("square", x) * x


def rsqrt(x: Tensor[R, D]) -> Tensor[R, D]:
    """1/√x."""
    return reciprocal(sqrt(checked("rsqrt", x, floats=True)))


def log10(x: Tensor[R, D]) -> Tensor[R, D]:
    """The logarithm to base 10, to 2 units in the last place."""
    return log(checked("log10", x, floats=True)) / math.log(10)


def deg2rad(x: Tensor[R, D]) -> Tensor[R, D]:
    """An angle in degrees as radians."""
    return checked("deg2rad", x, floats=True) * (math.pi / 180)


def rad2deg(x: Tensor[R, D]) -> Tensor[R, D]:
    """An angle in radians as degrees."""
    return checked("rad2deg", x, floats=True) * (180 / math.pi)


def tan(x: Tensor[R, D]) -> Tensor[R, D]:
    """The tangent of an angle in radians."""
    return sin(checked("tan", x, floats=True)) / cos(x)


def cosh(x: Tensor[R, D]) -> Tensor[R, D]:
    """The hyperbolic cosine (eˣ + e⁻ˣ)/2, by half of x, whose exponential overflows no earlier than the result."""
    up, down = exp(checked("cosh", x, floats=True) * 0.5), exp(x * -0.5)
    return up * 0.5 * up + down * 0.5 * down


def sinh(x: Tensor[R, D]) -> Tensor[R, D]:
    """The hyperbolic sine tanh x·cosh x, in which nothing cancels near 0."""
    return tanh(checked("sinh", x, floats=True)) * cosh(x)


def ceil(x: Tensor[R, D]) -> Tensor[R, D]:
    """The smallest whole number that is not below x."""
    return -floor(-x) if is_floating(checked("ceil", x).dtype) else x


def frac(x: Tensor[R, D]) -> Tensor[R, D]:
    """What x exceeds `trunc` of it by, with the sign of x; NaN of infinity."""
    return checked("frac", x, floats=True) - trunc(x)


def round(x: Tensor[R, D], decimals: int = 0) -> Tensor[R, D]:
    """The nearest number of so many decimals, the even one of two that are as near, as NumPy rounds."""
    if not is_floating(checked("round", x).dtype):
        return x
    if decimals:
        factor = 10.0 ** (decimals if decimals > 0 else -decimals)
        return round(x * factor) / factor if decimals > 0 else round(x / factor) * factor
    whole = trunc(x)
    rest, half = abs(x - whole), whole * 0.5
    far = (rest > 0.5) | ((rest == 0.5) & (half != trunc(half)))
    # -0 - 0 is -0.
    return whole - masked(far & (x < 0.0), like(x, 1)) - masked(far & (x > 0.0), like(x, -1))


def sign(x: Tensor[R, D]) -> Tensor[R, D]:
    """1 above 0, -1 below, 0 at 0, NaN of NaN."""
    zero, one = like(checked("sign", x), 0), like(x, 1)
    found = masked(x > zero, one) - masked(x < zero, one)
    return found + masked(isnan(x), x) if is_floating(x.dtype) else found
