"""The dialect of formulas in Halide: pointwise ops and update rules are formulas ``formula(xp, *arrays, *numbers)``,
and `Expressions` is the ``xp`` with which the CPU's kernels are described.

A formula has operators, `abs`, the functions of `FUNCTIONS`, by NumPy's names, and those that `for_arrays` declares,
which kernels compute in another way than arrays. Write `is_infinite` and `sloped` as they are here: the compiler
assumes that no number is infinite, and folds a comparison away.

Source: the polynomial of tanh is tanhf's of S. Moshier's Cephes library, exact to 2 units in the last place.
"""

# Formulas are lambdas of arrays, and of their module.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, Final, final

from typednn.engines import hl, nan, type_of
from typednn.engines.symbols import COMPARISONS, OPERATORS, Language, Symbol
from typednn.kernels import elementwise
from typednn.kernels.elementwise import is_positive

_TANH: Final = (-5.70498872745e-3, 2.06390887954e-2, -5.37397155531e-2, 1.33314422036e-1, -3.33332819422e-1)


def tanh(x: "hl.Expr") -> "hl.Expr":
    """In float32 up to |x| = 0.625 a polynomial, which keeps the digits of small x; beyond it 1 - 2/(exp(2|x|) + 1),
    with the sign of x.
    """
    if type_of(x).bits() == 64:
        return hl.select(nan.is_nan(x), x, hl.tanh(x))
    size = hl.abs(x)
    near = x + x * (x * x) * polynomial(x * x, [*map(hl.f32, _TANH)])
    # From 10 on it is 1 in float32.
    far = hl.f32(1) - hl.f32(2) / (hl.exp(hl.f32(2) * hl.min(size, hl.f32(10))) + hl.f32(1))
    signed = hl.select(x < 0, -far, far)
    return hl.select(nan.is_nan(x), x, hl.select(size < hl.f32(0.625), near, signed))


def polynomial(x: Any, factors: Sequence[Any]) -> Any:
    """By Horner's rule, the highest power first."""
    value, *rest = factors
    for factor in rest:
        value = value * x + factor
    return value


def _at_most(x: "hl.Expr", y: "hl.Expr") -> "hl.Expr":
    return (x <= y) & (nan.bits(x) <= nan.infinity(x)) & (nan.bits(y) <= nan.infinity(y))


def _at_least(x: "hl.Expr", y: "hl.Expr") -> "hl.Expr":
    return _at_most(y, x)


def _less(x: "hl.Expr", y: "hl.Expr") -> "hl.Expr":
    return is_positive(y - x)


def _greater(x: "hl.Expr", y: "hl.Expr") -> "hl.Expr":
    return is_positive(x - y)


def _absolute(x: "hl.Expr") -> "hl.Expr":
    return hl.abs(x)


def _clamped(x: "hl.Expr", low: "hl.Expr", high: "hl.Expr") -> "hl.Expr":
    return hl.clamp(x, low, high)


def _clipped(x: "hl.Expr", low: "hl.Expr", high: "hl.Expr") -> "hl.Expr":
    return hl.select(nan.is_nan(x), x, hl.clamp(x, low, high))


def _larger(x: "hl.Expr", y: "hl.Expr") -> "hl.Expr":
    return hl.max(x, y)


def _smaller(x: "hl.Expr", y: "hl.Expr") -> "hl.Expr":
    return hl.min(x, y)


def _sign(x: "hl.Expr") -> "hl.Expr":
    nothing = hl.select(nan.is_nan(x), x, 0)
    return hl.select(is_positive(x), 1, hl.select(is_positive(-x), -1, nothing))


def _square(x: "hl.Expr") -> "hl.Expr":
    return x * x


def _square_root(x: "hl.Expr") -> "hl.Expr":
    return hl.sqrt(x)


def _where(mask: "hl.Expr", x: "hl.Expr", y: "hl.Expr") -> "hl.Expr":
    return hl.select(mask, x, y)


def _python_operators(names: Iterable[str]) -> "dict[str, Callable[..., hl.Expr]]":
    return {name: getattr(operator, f"__{name}__") for name in names}


# By name: functions of expressions. They keep NaN, as NumPy's do, and an order with NaN is false.
FUNCTIONS: Final["dict[str, Callable[..., hl.Expr]]"] = {
    **_python_operators((*OPERATORS, "eq", "ne", "neg")),
    "abs": _absolute,
    "clip": _clipped,
    "exp": nan.exp,
    "ge": _at_least,
    "gt": _greater,
    "le": _at_most,
    "lt": _less,
    "maximum": nan.maximum,
    "minimum": nan.minimum,
    "sign": _sign,
    "sqrt": _square_root,
    "square": _square,
    "tanh": tanh,
    "where": _where,
}
# An instruction each, which may lose NaN.
_GUARDED: Final["dict[str, Callable[..., hl.Expr]]"] = {
    **FUNCTIONS,
    **_python_operators(COMPARISONS),
    "clip": _clamped,
    "maximum": _larger,
    "minimum": _smaller,
}


@final
class Expressions(Language):
    """Formulas as Halide's expressions of one type, float32 or float64; numbers become constants of this type.

    ``guarded``: the kernel gives x where x is NaN, so the formula may lose NaN. Without ``bits`` there are names alone.
    """

    def __init__(self, bits: int = 0, guarded: bool = False) -> None:
        super().__init__("Halide", _GUARDED if guarded else FUNCTIONS)
        self.bits: int = bits

    def apply(self, function: Any, *arguments: Any) -> Any:
        """One more expression; ``function`` is a name, or a function of expressions."""
        if not self.bits:
            return Symbol(self, None)
        compute = self.functions[function] if isinstance(function, str) else function
        return Symbol(self, compute(*map(self._expression, arguments)))

    def of(self, formula: Callable[..., Any], arguments: Sequence[Any]) -> Any:
        """The expression of ``formula``, or a list of several."""
        found = formula(self, *(each if isinstance(each, int | float) else Symbol(self, each) for each in arguments))
        return [*map(self._expression, found)] if isinstance(found, tuple) else self._expression(found)

    def _expression(self, value: Any) -> "hl.Expr":
        """Of a symbol, or a constant."""
        return value.value if isinstance(value, Symbol) else hl.cast(hl.Float(self.bits), hl.f64(value))


def for_arrays(formula: Callable[..., Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare a function of expressions as one of the dialect: ``formula(xp, …)`` is the same for arrays and
    on a GPU. The function's docstring says why it is another in Halide.
    """

    def declare(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def chosen(xp: Any, *numbers: Any) -> Any:
            return xp.apply(function, *numbers) if isinstance(xp, Expressions) else formula(xp, *numbers)

        parameters = inspect.signature(function).parameters.values()
        own = inspect.Parameter("xp", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        setattr(chosen, "__signature__", inspect.Signature([own, *parameters]))  # noqa: B010
        return chosen

    return declare


# ------------------------------------------------------------------ functions of the dialect that NumPy lacks

is_infinite: Final = for_arrays(lambda xp, x: xp.isinf(x))(elementwise.is_infinite)
sloped: Final = for_arrays(
    lambda xp, next_grad, slope: next_grad * xp.where((slope == 0) & xp.isinf(next_grad), 1, slope)
)(elementwise.times_slope)
decay: Final = for_arrays(lambda xp, x: xp.exp(x))(elementwise.decay)


@for_arrays(lambda xp, x: x < 0)
def is_negative(x: "hl.Expr") -> "hl.Expr":
    """x < 0. In a kernel NaN may count as negative, which saves two instructions."""
    return x < 0
