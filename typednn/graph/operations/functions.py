"""Functions of one number and of two: a row each. A new one is a row here and nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, final

import numpy as np

from typednn.arrays import is_floating
from typednn.backends import to_numpy
from typednn.engines import hl, nan
from typednn.engines.cuda_formula import FUNCTIONS as CUDA
from typednn.graph.operations import halide_functions as halide
from typednn.graph.operations.operation import Operation
from typednn.kernels.elementwise import constant


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class UnaryRow:
    """All that is known of a function y of one number x.

    ``value`` takes NumPy's module, or the arrays' own, and an array. ``derivative`` takes the derivative by y, x and y,
    and gives the one by x, all tensors; None where it is 0 wherever it is defined. ``halide`` takes
    Halide's expression of x; ``cuda`` is C++, where {0} is x. ``onnx`` is ONNX's operator.

    - ``takes``: "floats"; "numbers"; "signed", which are no booleans; "whole", integers and booleans; "rounded",
      floats, and integers, which it leaves as they are.
    - ``weight``: operations of a processor that a kernel needs for it, if 16 or more: such a value is not computed
      twice.
    - ``is_slow``: so slow that no second kernel computes it again.
    - ``most_bytes``: of the largest numbers that kernels take.
    """

    value: Callable[[Any, Any], Any]
    halide: Callable[[hl.Expr], hl.Expr]
    cuda: str
    derivative: Callable[[Any, Any, Any], Any] | None
    takes: Literal["floats", "numbers", "signed", "whole", "rounded"] = "floats"
    onnx: str = ""
    weight: int = 1
    is_slow: bool = False
    most_bytes: int = 8


def _erf(xp: Any, x: Any) -> Any:
    if xp is np:
        return np.asarray(np.frompyfunc(math.erf, 1, 1)(x), x.dtype)
    return xp.asarray(_erf(np, to_numpy(x)))


def _by_angle(g: Any, x: Any, y: Any) -> Any:
    """The derivative of the sine: no lambda, as type checkers know no operation within a row that its own row needs."""
    return g * Unary.COS(x)


@final
class Unary(Operation):
    """Functions of one number."""

    row: UnaryRow

    NEGATIVE = UnaryRow(
        value=lambda xp, x: -x,
        derivative=lambda g, x, y: -g,
        halide=halide.negative,
        cuda="-{0}",
        onnx="Neg",
        takes="signed",
    )
    BITWISE_NOT = UnaryRow(
        value=lambda xp, x: ~x,
        derivative=None,
        halide=lambda x: ~x,
        cuda="!{0}",
        takes="whole",
    )
    EXP = UnaryRow(
        value=lambda xp, x: xp.exp(x),
        derivative=lambda g, x, y: g * y,
        halide=nan.exp,
        cuda="exp({0})",
        onnx="Exp",
        weight=16,
    )
    EXP2 = UnaryRow(
        value=lambda xp, x: xp.exp2(x),
        derivative=lambda g, x, y: g * (y * math.log(2)),
        halide=halide.exp2,
        cuda="exp2({0})",
        weight=16,
    )
    LOG = UnaryRow(
        value=lambda xp, x: xp.log(x),
        derivative=lambda g, x, y: g / x,
        halide=halide.log,
        cuda="log({0})",
        onnx="Log",
        weight=16,
    )
    LOG2 = UnaryRow(
        value=lambda xp, x: xp.log2(x),
        derivative=lambda g, x, y: g / (x * math.log(2)),
        halide=halide.log2,
        cuda="log2({0})",
        weight=16,
    )
    RECIPROCAL = UnaryRow(
        value=lambda xp, x: 1 / x,
        derivative=lambda g, x, y: -g * (y * y),
        halide=lambda x: constant(x, 1) / x,
        cuda="1 / {0}",
        onnx="Reciprocal",
    )
    SQRT = UnaryRow(
        value=lambda xp, x: xp.sqrt(x),
        derivative=lambda g, x, y: g * 0.5 / y,
        halide=lambda x: hl.sqrt(x),
        cuda="sqrt({0})",
        onnx="Sqrt",
    )
    SIN = UnaryRow(
        value=lambda xp, x: xp.sin(x),
        derivative=_by_angle,
        halide=lambda x: hl.sin(x),
        cuda="sin({0})",
        onnx="Sin",
        weight=16,
        is_slow=True,
    )
    COS = UnaryRow(
        value=lambda xp, x: xp.cos(x),
        derivative=lambda g, x, y: -g * Unary.SIN(x),
        halide=lambda x: hl.cos(x),
        cuda="cos({0})",
        onnx="Cos",
        weight=16,
        is_slow=True,
    )
    FLOOR = UnaryRow(
        value=lambda xp, x: xp.floor(x),
        derivative=None,
        halide=lambda x: hl.floor(x),
        cuda="floor({0})",
        onnx="Floor",
        takes="rounded",
    )
    TRUNC = UnaryRow(
        value=lambda xp, x: xp.trunc(x),
        derivative=None,
        halide=lambda x: hl.trunc(x),
        cuda="trunc({0})",
        takes="rounded",
    )
    ABS = UnaryRow(
        value=lambda xp, x: xp.abs(x),
        derivative=lambda g, x, y: Binary.MASKED(x > 0, g) - Binary.MASKED(x < 0, g),
        halide=halide.absolute,
        cuda="fabs({0})",
        onnx="Abs",
        takes="numbers",
    )
    TANH = UnaryRow(
        value=lambda xp, x: xp.tanh(x),
        derivative=lambda g, x, y: g * (1.0 - y * y),
        halide=halide.tanh,
        cuda="tanh({0})",
        onnx="Tanh",
        weight=16,
    )
    ERF = UnaryRow(
        value=_erf,
        derivative=lambda g, x, y: g * (Unary.EXP(-(x * x)) * (2 / math.sqrt(math.pi))),
        halide=halide.erf,
        cuda="erf({0})",
        onnx="Erf",
        weight=32,
        most_bytes=4,  # its two polynomials in double precision take Halide minutes
    )
    LOG1P = UnaryRow(
        value=lambda xp, x: xp.log1p(x),
        derivative=lambda g, x, y: g / (1.0 + x),
        halide=halide.log1p,
        cuda="log1p({0})",
        weight=16,
    )
    EXPM1 = UnaryRow(
        value=lambda xp, x: xp.expm1(x),
        derivative=lambda g, x, y: g * Unary.EXP(x),  # not y + 1, which has no digits left where x is far below 0
        halide=halide.expm1,
        cuda="expm1({0})",
        weight=16,
    )


@final
@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class BinaryRow:
    """All that is known of a function y of two numbers x and z.

    ``value`` takes NumPy's module, or the arrays' own, and two arrays. ``by_x`` and ``by_z`` take the derivative by y,
    x, z and y, and give the ones by x and z, all tensors; None where there is none. ``halide`` takes
    Halide's expressions of x and z; ``cuda`` is C++, where {0} and {1} are x and z; both are None where only the
    interpreter computes it. ``onnx`` is ONNX's operator. ``takes`` says which dtypes: "numbers", "booleans",
    "integers"; "any", which gives booleans; "a mask", which is x, and any z.
    """

    value: Callable[[Any, Any, Any], Any]
    halide: Callable[[hl.Expr, hl.Expr], hl.Expr] | None = None
    cuda: str | None = None
    by_x: Callable[[Any, Any, Any, Any], Any] | None = None
    by_z: Callable[[Any, Any, Any, Any], Any] | None = None
    takes: Literal["numbers", "booleans", "integers", "any", "a mask"] = "numbers"
    onnx: str = ""


def _whole_power(xp: Any, x: Any, y: Any) -> Any:
    """NumPy refuses negative exponents: of 1 and -1 the power is that of exponents 1 and 2, of other numbers 0."""
    one = x.dtype.type(1)
    is_unit = (x == one) | (x == -one)
    base = xp.where((y < 0) & ~is_unit, x.dtype.type(0), x)
    return base ** xp.where(y < 0, 2 - (y & one), y)


def _by_larger(g: Any, x: Any, z: Any) -> Any:
    """``g`` where x is the larger, half of it where both are equal."""
    return Binary.MASKED(x > z, g) + Binary.MASKED(Binary.EQUAL(x, z), g * 0.5)


def _by_masked(g: Any, mask: Any, x: Any, y: Any) -> Any:
    """The derivative of MASKED: no lambda, as that of the sine."""
    return Binary.MASKED(mask, g)


@final
class Binary(Operation):
    """Functions of two numbers. MASKED is the second where the first, a boolean, is true, and 0 elsewhere."""

    row: BinaryRow

    ADD = BinaryRow(
        value=lambda xp, x, z: x + z,
        by_x=lambda g, x, z, y: g,
        by_z=lambda g, x, z, y: g,
        halide=lambda x, z: x + z,
        cuda="{0} + {1}",
        onnx="Add",
    )
    SUBTRACT = BinaryRow(
        value=lambda xp, x, z: x - z,
        by_x=lambda g, x, z, y: g,
        by_z=lambda g, x, z, y: -g,
        halide=lambda x, z: x - z,
        cuda="{0} - {1}",
        onnx="Sub",
    )
    MULTIPLY = BinaryRow(
        value=lambda xp, x, z: x * z,
        by_x=lambda g, x, z, y: g * z,
        by_z=lambda g, x, z, y: g * x,
        halide=lambda x, z: x * z,
        cuda="{0} * {1}",
        onnx="Mul",
    )
    DIVIDE = BinaryRow(
        value=lambda xp, x, z: x / z if is_floating(x.dtype) else x // z,
        by_x=lambda g, x, z, y: g / z,
        by_z=lambda g, x, z, y: -(g * (y / z)),
        halide=lambda x, z: x / z,
        cuda="{0} / {1}",
        onnx="Div",
    )
    POWER = BinaryRow(
        value=lambda xp, x, z: _whole_power(xp, x, z) if x.dtype.kind == "i" else x**z,
        # x⁰ is 1 everywhere, and its derivative 0, also where x^-1 is infinite.
        by_x=lambda g, x, z, y: Binary.MASKED(z != 0.0, g * (z * x ** (z - 1.0))),
        # At x = 0 it is 0 for z > 0: log x is infinite there, and y is 0.
        by_z=lambda g, x, z, y: Binary.MASKED((x != 0.0) | (z < 0.0), g * (y * Unary.LOG(x))),
        halide=halide.power,
        cuda="pow({0}, {1})",
        onnx="Pow",
    )
    MODULO = BinaryRow(
        value=lambda xp, x, z: x % z,
        by_x=lambda g, x, z, y: g,
        by_z=lambda g, x, z, y: -(g * Unary.FLOOR(x / z)),
    )
    LESS = BinaryRow(
        value=lambda xp, x, z: x < z,
        halide=lambda x, z: x < z,
        cuda="{0} < {1}",
        onnx="Less",
        takes="any",
    )
    GREATER = BinaryRow(
        value=lambda xp, x, z: x > z,
        halide=lambda x, z: x > z,
        cuda="{0} > {1}",
        onnx="Greater",
        takes="any",
    )
    GREATER_EQUAL = BinaryRow(
        value=lambda xp, x, z: x >= z,
        # Halide takes x >= z for the opposite of x < z, which NaN is not.
        halide=lambda x, z: (x > z) | (x == z),
        cuda="{0} >= {1}",
        onnx="GreaterOrEqual",
        takes="any",
    )
    MAXIMUM = BinaryRow(
        value=lambda xp, x, z: xp.maximum(x, z),
        by_x=lambda g, x, z, y: _by_larger(g, x, z),
        by_z=lambda g, x, z, y: _by_larger(g, z, x),
        halide=halide.maximum,
        cuda=CUDA["maximum"],
        onnx="Max",
    )
    LOGICAL_OR = BinaryRow(
        value=lambda xp, x, z: x | z,
        halide=lambda x, z: x | z,
        cuda="{0} || {1}",
        onnx="Or",
        takes="booleans",
    )
    LOGICAL_AND = BinaryRow(
        value=lambda xp, x, z: x & z,
        halide=lambda x, z: x & z,
        cuda="{0} && {1}",
        onnx="And",
        takes="booleans",
    )
    LOGICAL_XOR = BinaryRow(
        value=lambda xp, x, z: x ^ z,
        halide=lambda x, z: x != z,
        cuda="{0} != {1}",
        onnx="Xor",
        takes="booleans",
    )
    BITWISE_OR = BinaryRow(value=lambda xp, x, z: x | z, takes="integers")
    BITWISE_AND = BinaryRow(value=lambda xp, x, z: x & z, takes="integers")
    BITWISE_XOR = BinaryRow(value=lambda xp, x, z: x ^ z, takes="integers")
    LEFT_SHIFT = BinaryRow(value=lambda xp, x, z: x << z, takes="integers")
    RIGHT_SHIFT = BinaryRow(value=lambda xp, x, z: x >> z, takes="integers")
    NOT_EQUAL = BinaryRow(
        value=lambda xp, x, z: x != z,
        halide=lambda x, z: x != z,
        cuda="{0} != {1}",
        takes="any",
    )
    EQUAL = BinaryRow(
        value=lambda xp, x, z: x == z,
        halide=lambda x, z: x == z,
        cuda="{0} == {1}",
        onnx="Equal",
        takes="any",
    )
    MASKED = BinaryRow(
        value=lambda xp, mask, x: xp.where(mask, x, x.dtype.type(0)),
        by_z=_by_masked,
        halide=lambda mask, x: hl.select(mask, x, constant(x, 0)),
        cuda="({0} ? {1} : 0)",
        takes="a mask",
    )


# Exponents that have expressions of their own, in Halide and in CUDA.
POWERS: Final[dict[float, tuple[Callable[[hl.Expr], hl.Expr], str]]] = {
    -2.0: (lambda x: constant(x, 1) / (x * x), "1 / ({0} * {0})"),
    -1.0: (lambda x: constant(x, 1) / x, "1 / {0}"),
    -0.5: (lambda x: constant(x, 1) / halide.root(x), "1 / sqrt({0})"),
    0.5: (halide.root, "sqrt({0})"),
    1.0: (lambda x: x, "{0}"),
    2.0: (lambda x: x * x, "{0} * {0}"),
    3.0: (lambda x: x * x * x, "{0} * {0} * {0}"),
    4.0: (lambda x: (x * x) * (x * x), "({0} * {0}) * ({0} * {0})"),
}
