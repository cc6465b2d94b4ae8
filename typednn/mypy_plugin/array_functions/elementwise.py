"""Functions of single elements: their arguments broadcast against each other."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Kind,
    Misfit,
    Operands,
    Row,
    Rule,
    broadcast,
    certain,
    gathered,
    into,
    kind_of,
    like,
    made,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value


def _ufunc(names: tuple[str, ...], kind: Kind) -> Rule:
    def rule(o: Operands) -> Value:
        values = [o[name] for name in names]
        considered = values if o.values.get("where", Constant(True)) == Constant(True) else [*values, o["where"]]
        result = o.dtype(kind(*map(kind_of, values)))
        return into(o, broadcast(considered, o.differ), result, stretched=True, deeper=True)

    return rule


_FURTHER = "out=None, *, where=True, casting='same_kind', order='K', dtype=None, subok=True"


def unary(kind: Kind) -> Row:
    """A function of one array."""
    return Row(f"x, /, {_FURTHER}", _ufunc(("x",), kind))


def binary(kind: Kind) -> Row:
    """A function of two arrays."""
    return Row(f"x1, x2, /, {_FURTHER}", _ufunc(("x1", "x2"), kind))


def _rounded(kind: str) -> str:
    return kind if dtypes.family(kind) == "Float" else ""


def _raised(base: str, exponent: str) -> str:
    """``x ** 2`` of booleans is a square, and int8."""
    return "" if base == "Bool" and exponent in (dtypes.WEAK_INT, dtypes.WEAK_FLOAT) else dtypes.numeric(base, exponent)


def _where(o: Operands) -> Value:
    if o["x"] is UNKNOWN and o["y"] is UNKNOWN:
        return UNKNOWN
    return made(o.broadcast("condition", "x", "y"), o.kind("x", "y"))


def _clip(o: Operands) -> Value:
    names = [name for name in ("a", "a_min", "a_max") if o.given(name)]
    return into(o, o.broadcast(*names), o.kind(*names), stretched=True, deeper=True)


def _rounded_to(o: Operands) -> Value:
    kind = o.kind("a")
    return o["out"] if o.given("out") else made(o.shape("a"), "Float16" if kind == "Bool" else kind)


def _close(o: Operands) -> Value:
    return made(o.broadcast("a", "b"), "Bool")


def _divided(o: Operands) -> Value:
    return Pack((made(o.broadcast("x1", "x2"), dtypes.numeric(o.kind("x1"), o.kind("x2"))),) * 2, frozen=True)


def _outer(rule: Rule) -> Rule:
    """Each element of a with each of b."""

    def outer(o: Operands) -> Value:
        a, b = certain(o.both("a", "b"))
        raised = made([*a, *[ONE] * len(b)], o.kind("a")) if b else o["a"]
        return rule(Operands({"x1": raised, "x2": o["b"]}, o.differ))

    return outer


def _selected(o: Operands) -> Value:
    (conditions, _), (choices, _) = gathered(o, "condlist"), gathered(o, "choicelist")
    if len(conditions) != len(choices):
        raise Misfit(f"select: {len(conditions)} conditions, {len(choices)} choices")
    kind = dtypes.promoted(*map(kind_of, choices), o.kind("default"))
    return made(broadcast([*conditions, *choices, o["default"]], o.differ), kind)


def _all_close(o: Operands) -> Value:
    _close(o)
    return made([], "Bool")


_CLOSE = "a, b, rtol=1e-05, atol=1e-08, equal_nan=False"
_OF_FLOATS = (
    *(
        "exp",
        "exp2",
        "expm1",
        "log",
        "log2",
        "log10",
        "log1p",
        "sqrt",
        "cbrt",
        "sin",
        "cos",
        "tan",
        "arcsin",
        "arccos",
        "arctan",
        "sinh",
    ),
    *("cosh", "tanh", "arcsinh", "arccosh", "arctanh", "deg2rad", "rad2deg", "degrees", "radians"),
)
_KEEPING = ("negative", "positive", "sign", "invert", "bitwise_not")
_ARITHMETIC = (
    *(
        "add",
        "subtract",
        "multiply",
        "maximum",
        "minimum",
        "fmax",
        "fmin",
        "bitwise_and",
        "bitwise_or",
        "bitwise_xor",
        "gcd",
        "lcm",
    ),
)
_NUMERIC = ("power", "floor_divide", "remainder", "mod", "fmod", "left_shift", "right_shift")
_COMPARISONS = (
    *(
        "equal",
        "not_equal",
        "less",
        "less_equal",
        "greater",
        "greater_equal",
        "logical_and",
        "logical_or",
        "logical_xor",
    ),
)
_OPERATORS = {
    "+": "add", "-": "subtract", "*": "multiply", "/": "true_divide", "//": "floor_divide", "%": "remainder",
    "<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal", "==": "equal", "!=": "not_equal",
    "&": "bitwise_and", "|": "bitwise_or", "^": "bitwise_xor", "neg": "negative", "invert": "invert", "abs": "absolute",
    "<<": "left_shift", ">>": "right_shift",
}  # fmt: skip

_FUNCTIONS: dict[str, Row] = {
    **{f"numpy.{name}": unary(dtypes.inexact) for name in _OF_FLOATS},
    **{f"numpy.{name}": unary(dtypes.same) for name in _KEEPING},
    **{f"numpy.{name}": unary(dtypes.numeric) for name in ("square", "reciprocal", "conjugate", "conj")},
    **{f"numpy.{name}": unary(dtypes.real) for name in ("absolute", "abs")},
    **{f"numpy.{name}": unary(_rounded) for name in ("floor", "ceil", "rint", "trunc", "fabs")},
    **{f"numpy.{name}": unary(dtypes.boolean) for name in ("isnan", "isinf", "isfinite", "logical_not", "signbit")},
    **{f"numpy.{name}": binary(dtypes.promoted) for name in _ARITHMETIC},
    **{f"numpy.{name}": binary(dtypes.numeric) for name in _NUMERIC},
    **{f"numpy.{name}": binary(dtypes.quotient) for name in ("divide", "true_divide")},
    **{f"numpy.{name}": binary(dtypes.boolean) for name in _COMPARISONS},
    **{
        f"numpy.{name}": binary(dtypes.inexact)
        for name in ("arctan2", "hypot", "logaddexp", "logaddexp2", "copysign", "nextafter", "heaviside")
    },
    "numpy.divmod": Row("x1, x2, /", _divided),
    "numpy.where": Row("condition, x, y, /", _where),
    "numpy.select": Row("condlist, choicelist, default=0", _selected),
    "numpy.clip": Row("a, a_min=None, a_max=None, out=None, *, min=None, max=None, dtype=None", _clip),
    "Array.clip()": Row("a, a_min=None, a_max=None, out=None", _clip),
    **dict.fromkeys(("numpy.round", "numpy.around"), Row("a, decimals=0, out=None", _rounded_to)),
    "Array.round()": Row("a, decimals=0, out=None", _rounded_to),
    "numpy.nan_to_num": Row("a, copy=True, nan=0.0, posinf=None, neginf=None", like("a", dtypes.same)),
    **{f"Array.{name}()": Row("a", like("a", dtypes.same)) for name in ("conj", "conjugate")},
    "numpy.isclose": Row(_CLOSE, _close),
    "numpy.allclose": Row(_CLOSE, _all_close),
    "numpy.array_equal": Row("a1, a2, equal_nan=False", lambda o: made([], "Bool")),
    "numpy.sinc": Row("x", like("x", dtypes.quotient)),
    "numpy.angle": Row("x, deg=False", like("x", dtypes.unknown)),
    **{f"numpy.{name}": Row("x", like("x", dtypes.real)) for name in ("real", "imag")},
}
_OUTER = (
    "add",
    "subtract",
    "multiply",
    "divide",
    "power",
    "maximum",
    "minimum",
    "equal",
    "less",
    "less_equal",
    "greater",
    "greater_equal",
)
TABLE: dict[str, Row] = {
    **_FUNCTIONS,
    **{f"numpy.{name}.outer": Row("a, b, /", _outer(_FUNCTIONS[f"numpy.{name}"].rule)) for name in _OUTER},
    **{operator: _FUNCTIONS[f"numpy.{name}"] for operator, name in _OPERATORS.items()},
    "**": binary(_raised),
}
