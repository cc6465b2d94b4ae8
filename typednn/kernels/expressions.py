"""The dialect of formulas in Halide: pointwise ops and update rules are formulas ``formula(xp, *arrays, *numbers)``,
and `Expressions` is the ``xp`` with which the CPU's kernels are described.

A formula has operators, `abs`, the functions of `FUNCTIONS`, by NumPy's names, and those of this file. The latter are
NumPy's too for arrays, but kernels compute them in another way, which each says the reason of. Write `is_infinite` and
`sloped` as they are here: a comparison of numbers that may be infinite or NaN is folded away in a kernel.

Source: the polynomial of tanh is tanhf's of S. Moshier's Cephes library, exact to 2 units in the last place.
"""

# Halide has no types.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import operator
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Final, final

from typednn.engines import nan, type_of
from typednn.engines.symbols import COMPARISONS, OPERATORS, Language, Symbol
from typednn.kernels import elementwise
from typednn.kernels.elementwise import is_positive

_TANH: Final = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)


def tanh(hl: Any, x: Any) -> Any:
    """In float32 up to |x| = 0.625 a polynomial, which keeps the digits of small x; beyond it 1 - 2/(exp(2|x|) + 1),
    with the sign of x.
    """
    if type_of(x).bits() == 64:
        return hl.select(nan.is_nan(hl, x), x, hl.tanh(x))
    size = hl.abs(x)
    near = x + x * (x * x) * polynomial(x * x, [*map(hl.f32, _TANH)])
    # From 10 on it is 1 in float32.
    far = hl.f32(1) - hl.f32(2) / (hl.exp(hl.f32(2) * hl.min(size, hl.f32(10))) + hl.f32(1))
    signed = hl.select(x < 0, -far, far)
    return hl.select(nan.is_nan(hl, x), x, hl.select(size < hl.f32(0.625), near, signed))


def polynomial(x: Any, factors: Sequence[Any]) -> Any:
    """By Horner's rule, the highest power first."""
    value, *rest = factors
    for factor in rest:
        value = value * x + factor
    return value


def _at_most(hl: Any, x: Any, y: Any) -> Any:
    return (x <= y) & (nan.bits(hl, x) <= nan.infinity(hl, x)) & (nan.bits(hl, y) <= nan.infinity(hl, y))


def _sign(hl: Any, x: Any) -> Any:
    nothing = hl.select(nan.is_nan(hl, x), x, 0)
    return hl.select(is_positive(hl, x), 1, hl.select(is_positive(hl, -x), -1, nothing))


def _plain(name: str) -> Callable[..., Any]:
    def compute(hl: Any, *numbers: Any) -> Any:
        return getattr(operator, f"__{name}__")(*numbers)

    return compute


# By name: functions of ``hl`` and expressions. They keep NaN, as NumPy's do, and an order with NaN is false.
FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    **{name: _plain(name) for name in (*OPERATORS, "eq", "ne", "neg")},
    "abs": lambda hl, x: hl.abs(x),
    "clip": lambda hl, x, low, high: hl.select(nan.is_nan(hl, x), x, hl.clamp(x, low, high)),
    "exp": nan.exp,
    "ge": lambda hl, x, y: _at_most(hl, y, x),
    "gt": lambda hl, x, y: is_positive(hl, x - y),
    "le": _at_most,
    "lt": lambda hl, x, y: is_positive(hl, y - x),
    "maximum": nan.maximum,
    "minimum": nan.minimum,
    "sign": _sign,
    "sqrt": lambda hl, x: hl.sqrt(x),
    "square": lambda hl, x: x * x,
    "tanh": tanh,
    "where": lambda hl, mask, x, y: hl.select(mask, x, y),
}
# An instruction each, which may lose NaN.
_GUARDED: Final[dict[str, Callable[..., Any]]] = {
    **FUNCTIONS,
    **{name: _plain(name) for name in COMPARISONS},
    "clip": lambda hl, x, low, high: hl.clamp(x, low, high),
    "maximum": lambda hl, x, y: hl.max(x, y),
    "minimum": lambda hl, x, y: hl.min(x, y),
}


@final
class Expressions(Language):
    """Formulas as Halide's expressions of one type, float32 or float64; numbers become constants of this type.

    ``guarded``: the kernel gives x where x is NaN, so the formula may lose NaN. Without ``hl`` there are names alone.
    """

    def __init__(self, hl: Any, bits: int, guarded: bool = False) -> None:
        super().__init__("Halide", _GUARDED if guarded else FUNCTIONS)
        self.hl: Any = hl
        self.bits: int = bits

    def apply(self, function: Any, *arguments: Any) -> Any:
        """One more expression; ``function`` is a name, or a function of ``hl`` and expressions."""
        if self.hl is None:
            return Symbol(self, None)
        compute = self.functions[function] if isinstance(function, str) else function
        return Symbol(self, compute(self.hl, *map(self._expression, arguments)))

    def of(self, formula: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """The expression of ``formula``, or a list of several."""
        found = formula(self, *(each if isinstance(each, int | float) else Symbol(self, each) for each in arguments))
        return [*map(self._expression, found)] if isinstance(found, tuple) else self._expression(found)

    def _expression(self, value: Any) -> Any:
        """Of a symbol, or a constant."""
        return value.value if isinstance(value, Symbol) else self.hl.cast(self.hl.Float(self.bits), self.hl.f64(value))


def in_halide(expression: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """The decorator of a function of the dialect that kernels compute as ``expression(hl, *arguments)`` does."""

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def chosen(xp: Any, *numbers: Any) -> Any:
            return xp.apply(expression, *numbers) if isinstance(xp, Expressions) else function(xp, *numbers)

        return chosen

    return declare


# ------------------------------------------------------------------ functions of the dialect that NumPy lacks


@in_halide(elementwise.is_infinite)
def is_infinite(xp: Any, x: Any) -> Any:
    """Whether x is infinite. A kernel tests the bits, and may count NaN as infinite."""
    return xp.isinf(x)


@in_halide(elementwise.times_slope)
def sloped(xp: Any, next_grad: Any, slope: Any) -> Any:
    """next_grad·slope, for a slope that only rounding makes 0: an infinite ``next_grad`` then stays infinite. Otherwise
    the last digit of y would decide between infinity and NaN.
    """
    return next_grad * xp.where((slope == 0) & xp.isinf(next_grad), 1, slope)


@in_halide(lambda hl, x: x < 0)
def is_negative(xp: Any, x: Any) -> Any:
    """x < 0. In a kernel NaN may count as negative, which saves two instructions."""
    return x < 0


@in_halide(elementwise.decay)
def decay(xp: Any, x: Any) -> Any:
    """eˣ for x <= 0. A kernel clamps at one end alone, and in float32 makes denormal results 0."""
    return xp.exp(x)
