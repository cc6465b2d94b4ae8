"""Functions of single elements: their arguments broadcast against each other."""

from __future__ import annotations

from collections.abc import Callable

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.rows import Operands, Row, Shape, broadcast, dtype_of, fits_into, kind_of, made
from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value


def into(o: Operands, shape: Shape | None, kind: str, *, exactly: bool = False) -> Value:
    """The result, or ``out`` with it; ``exactly``: out may not be larger than the result."""
    out = o.values.get("out", Constant(None))
    if out == Constant(None):
        return made(shape, kind)
    target = o.shape("out")
    if target is not None and shape is not None:
        fits_into(shape, target, o.differ, "out")
        if exactly:
            fits_into(target, shape, o.differ, "out")
    return out


def _ufunc(names: tuple[str, ...], kind: Callable[..., str]) -> Callable[[Operands], Value]:
    def rule(o: Operands) -> Value:
        values = [o[name] for name in names]
        wanted = dtype_of(o["dtype"])
        result = dtypes.strong(kind(*map(kind_of, values))) if wanted is None else wanted
        considered = values if o.values.get("where", Constant(True)) == Constant(True) else [*values, o["where"]]
        return into(o, broadcast(considered, o.differ), result)

    return rule


_FURTHER = "out=None, *, where=True, casting='same_kind', order='K', dtype=None, subok=True"


def unary(kind: Callable[..., str]) -> Row:
    """A function of one array."""
    return Row(f"x, /, {_FURTHER}", _ufunc(("x",), kind))


def binary(kind: Callable[..., str]) -> Row:
    """A function of two arrays."""
    return Row(f"x1, x2, /, {_FURTHER}", _ufunc(("x1", "x2"), kind))


def _kept(kind: str) -> str:
    return kind


def _boolean(*kinds: str) -> str:
    return "Bool"


def _power(a: str, b: str) -> str:
    kind = dtypes.computed(a, b)
    return "" if "Bool" in (a, b) and kind == "Int64" else kind  # truth values squared stay small


def _rounded(kind: str) -> str:
    return kind if dtypes.family(kind) == "Float" else ""


def _where(o: Operands) -> Value:
    if o["x"] is UNKNOWN and o["y"] is UNKNOWN:
        return UNKNOWN
    return made(o.broadcast("condition", "x", "y"), dtypes.strong(dtypes.promoted(o.kind("x"), o.kind("y"))))


def _clip(o: Operands) -> Value:
    names = [name for name in ("a", "a_min", "a_max") if o.given(name)]
    return into(o, o.broadcast(*names), dtypes.strong(dtypes.promoted(*(o.kind(name) for name in names))))


def _same(o: Operands) -> Value:
    return into(o, o.shape("a"), dtypes.strong(o.kind("a")))


def _round(o: Operands) -> Value:
    return into(o, o.shape("a"), "Float16" if (kind := dtypes.strong(o.kind("a"))) == "Bool" else kind)


def _close(o: Operands) -> Value:
    return made(o.broadcast("a", "b"), "Bool")


def _divided(o: Operands) -> Value:
    result = made(o.broadcast("x1", "x2"), dtypes.computed(o.kind("x1"), o.kind("x2")))
    return Pack((result, result), frozen=True)


_OF_FLOATS = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "cbrt", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "sinh"),
    *("cosh", "tanh", "arcsinh", "arccosh", "arctanh", "deg2rad", "rad2deg", "degrees", "radians"),
)
_KEEPING = ("negative", "positive", "sign", "invert", "bitwise_not")
_ARITHMETIC = (
    *("add", "subtract", "multiply", "maximum", "minimum", "fmax", "fmin"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "lcm"),
)
_COMPUTED = ("power", "floor_divide", "remainder", "mod", "fmod", "left_shift", "right_shift")
_COMPARISONS = (*("equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor"),)
_OPERATORS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "true_divide", "//": "floor_divide", "%": "remainder", "**": "power",
    "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal", "&": "bitwise_and",
    "|": "bitwise_or", "^": "bitwise_xor", "neg": "negative", "invert": "invert", "abs": "absolute",
    "<<": "left_shift", ">>": "right_shift",
}  # fmt: skip

TABLE: dict[str, Row] = {
    **{f"numpy.{name}": unary(dtypes.inexact) for name in _OF_FLOATS},
    **{f"numpy.{name}": unary(dtypes.computed) for name in ("square", "reciprocal", "conjugate", "conj")},
    **{f"numpy.{name}": unary(_kept) for name in _KEEPING},
    **{f"numpy.{name}": unary(dtypes.real) for name in ("absolute", "abs")},
    **{f"numpy.{name}": unary(_rounded) for name in ("floor", "ceil", "rint", "trunc", "fabs")},
    **{f"numpy.{name}": unary(_boolean) for name in ("isnan", "isinf", "isfinite", "logical_not", "signbit")},
    **{f"numpy.{name}": binary(dtypes.promoted) for name in _ARITHMETIC},
    **{f"numpy.{name}": binary(dtypes.computed) for name in _COMPUTED},
    **{f"numpy.{name}": binary(dtypes.quotient) for name in ("divide", "true_divide")},
    **{f"numpy.{name}": binary(_boolean) for name in _COMPARISONS},
    **{f"numpy.{name}": binary(dtypes.inexact) for name in ("arctan2", "hypot", "logaddexp", "logaddexp2", "copysign", "nextafter")},
    "numpy.divmod": Row("x1, x2, /", _divided),
    "numpy.where": Row("condition, x, y, /", _where),
    "numpy.clip": Row("a, a_min=None, a_max=None, out=None, *, min=None, max=None, dtype=None", _clip),
    "Array.clip()": Row("a, a_min=None, a_max=None, out=None", _clip),
    **dict.fromkeys(("numpy.round", "numpy.around"), Row("a, decimals=0, out=None", _round)),
    "Array.round()": Row("a, decimals=0, out=None", _round),
    "numpy.nan_to_num": Row("a, copy=True, nan=0.0, posinf=None, neginf=None", _same),
    "Array.conj()": Row("a", _same),
    "numpy.isclose": Row("a, b, rtol=1e-05, atol=1e-08, equal_nan=False", _close),
}
TABLE.update({operator: TABLE[f"numpy.{name}"] for operator, name in _OPERATORS.items()} | {"**": binary(_power)})
