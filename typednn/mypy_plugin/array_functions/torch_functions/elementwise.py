"""Functions of single elements, and what keeps every element: their arguments broadcast against each other."""

from __future__ import annotations

from dataclasses import replace

from typednn.mypy_plugin.array_functions import dtypes, products
from typednn.mypy_plugin.array_functions import elementwise as common
from typednn.mypy_plugin.array_functions.rows import (
    Kind,
    Misfit,
    Operands,
    Row,
    Rule,
    broadcast,
    fits_into,
    like,
    made,
)
from typednn.mypy_plugin.array_functions.torch_functions.arguments import named
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, DType, Value


def alike(*kinds: str) -> str:
    """The dtype of several: it is known where all arrays have one, whole numbers beside Python's own."""
    arrays = {kind for kind in kinds if kind not in _WEAK}
    if len(arrays) != 1:
        return ""
    (kind,) = arrays
    numbers = set(kinds) - arrays
    fits = not numbers if kind == "Bool" else numbers <= {dtypes.WEAK_INT, dtypes.WEAK_BOOL}
    return kind if fits and dtypes.family(kind) in ("Bool", "Int", "UInt") else ""


def _operator(sign: str) -> Row:
    """The common rule of an operator, with a dtype by PyTorch's rules."""
    known = common.TABLE.get(sign) or products.TABLE[sign]

    def rule(o: Operands) -> Value:
        value = known.rule(o)
        kind = "" if sign == "/" else alike(*(o.kind(name) for name in ("x", "x1", "x2") if name in o.values))
        return replace(value, kind=kind) if isinstance(value, Array) else value

    return Row(known.parameters, rule)


def _common(*names: str, kind: Kind = dtypes.unknown) -> Rule:
    """The arguments broadcast, as far as they are given."""

    def rule(o: Operands) -> Value:
        values = [o[name] for name in names if o.given(name)]
        return made(broadcast(values, o.differ), kind(*(o.kind(name) for name in names)))

    return rule


def _in_place(*names: str) -> Rule:
    """``x.add_(y)``: what goes into x must fit into it."""

    def rule(o: Operands) -> Value:
        target = o.shape("input")
        for name in names:
            shape = o.shape(name) if o.given(name) else None
            if shape is not None and target is not None:
                fits_into(shape, target, o.differ, "in place")
        return o["input"]

    return rule


def _itself(o: Operands) -> Value:
    return o["input"]


def _cast(kind: str) -> Rule:
    def rule(o: Operands) -> Value:
        value = o["input"]
        return replace(value, kind=kind) if isinstance(value, Array) else made(o.shape("input"), kind)

    return rule


def _to(o: Operands) -> Value:
    """``x.to(device)``, ``x.to(torch.long)``, ``x.to(dtype=…)``."""
    args = o.values.get("args", UNKNOWN)
    given = [*getattr(args, "items", ()), o.values.get("dtype", Constant(None))]
    known = [each.kind for each in given if isinstance(each, DType)]
    return _cast(known[0] if known else "")(o)


def _where(o: Operands) -> Value:
    if not o.given("input"):  # the places of what is true
        return UNKNOWN
    return made(o.broadcast("condition", "input", "other"), o.kind("input", "other"))


def _filled(o: Operands) -> Value:
    _of_one_element(o)
    return made(o.broadcast("input", "mask"))


def _filled_in_place(o: Operands) -> Value:
    _of_one_element(o)
    return _in_place("mask")(o)


def _of_one_element(o: Operands) -> None:
    value = o.shape("value")
    if value:
        raise Misfit(f"masked_fill: the value has {len(value)} axes, it must be one number")


def _copied(o: Operands) -> Value:
    return _in_place("src")(o)


_WEAK = (dtypes.WEAK_BOOL, dtypes.WEAK_INT, dtypes.WEAK_FLOAT)
_ARITHMETIC = "add sub subtract mul multiply"
_UNARY = (
    "exp exp2 expm1 log log2 log10 log1p sqrt rsqrt sin cos tan asin acos atan arcsin arccos arctan sinh cosh "
    "tanh asinh "
    "acosh atanh sigmoid erf erfc erfinv reciprocal frac digamma lgamma deg2rad rad2deg sinc"
)
_KEEPING = "abs absolute neg negative sign sgn floor ceil trunc square relu"
_COMPARISONS = "eq ne lt le gt ge less less_equal greater greater_equal not_equal"
_LOGIC = "logical_and logical_or logical_xor"
_TWO = "div divide true_divide floor_divide remainder fmod pow atan2 arctan2 hypot copysign xlogy heaviside"
_TWO_WITHOUT = "maximum minimum fmax fmin logaddexp logaddexp2"
_SAME = (
    "detach clone contiguous cpu cuda requires_grad_ pin_memory detach_ share_memory_ zero_ uniform_ normal_ fill_ "
    "bernoulli_ exponential_ random_ log_normal_"
)
_CASTS = {
    "float": "",
    "half": "",
    "double": "",
    "bfloat16": "",
    "long": "Int",
    "int": "Int",
    "short": "Int",
    "bool": "Bool",
    "type_as": "",
}


def _underscored(names: str) -> str:
    return " ".join(f"{name}_" for name in names.split())


TABLE: dict[str, Row] = {
    **named(_UNARY, "input, *, out=None", like("input", dtypes.unknown)),
    **named(_KEEPING, "input, *, out=None", like("input", dtypes.same)),
    **named("round", "input, *, decimals=0, out=None", like("input", dtypes.same)),
    **named(
        _underscored(f"{_UNARY} {_KEEPING} round nan_to_num"), "input, *further, decimals=0", _itself, function=False
    ),
    **named(
        "isnan isinf isfinite isposinf isneginf signbit logical_not",
        "input, *, out=None",
        like("input", dtypes.boolean),
    ),
    **named("bitwise_not", "input, *, out=None", like("input", dtypes.same)),
    **named("nan_to_num", "input, nan=None, posinf=None, neginf=None, *, out=None", like("input", dtypes.unknown)),
    **named("logit", "input, eps=None, *, out=None", like("input", dtypes.unknown)),
    **named(_ARITHMETIC, "input, other, *, alpha=1, out=None", _common("input", "other", kind=alike)),
    **named(_TWO, "input, other, *, rounding_mode=None, out=None", _common("input", "other")),
    **named(_TWO_WITHOUT, "input, other, *, out=None", _common("input", "other")),
    **named(_COMPARISONS, "input, other, *, out=None", _common("input", "other", kind=dtypes.boolean)),
    **named(_LOGIC, "input, other, *, out=None", _common("input", "other", kind=dtypes.boolean)),
    **named("bitwise_and bitwise_or bitwise_xor", "input, other, *, out=None", _common("input", "other", kind=alike)),
    **named(
        _underscored(f"{_ARITHMETIC} {_TWO} {_COMPARISONS} {_LOGIC}"),
        "input, other, *, alpha=1, rounding_mode=None",
        _in_place("other"),
        function=False,
    ),
    **named("copy_", "input, src, non_blocking=False", _copied, function=False),
    **named("clamp clip", "input, min=None, max=None, *, out=None", _common("input", "min", "max")),
    **named("clamp_ clip_", "input, min=None, max=None", _in_place("min", "max"), function=False),
    **named("clamp_min", "input, min, *, out=None", _common("input", "min")),
    **named("clamp_max", "input, max, *, out=None", _common("input", "max")),
    **named("addcmul addcdiv", "input, tensor1, tensor2, *, value=1, out=None", _common("input", "tensor1", "tensor2")),
    **named(
        "addcmul_ addcdiv_", "input, tensor1, tensor2, *, value=1", _in_place("tensor1", "tensor2"), function=False
    ),
    **named("lerp", "input, end, weight, *, out=None", _common("input", "end", "weight")),
    **named("lerp_", "input, end, weight", _in_place("end", "weight"), function=False),
    **named("where", "condition, input=None, other=None, *, out=None", _where, method=False),
    **named("where", "input, condition, other", _where, function=False),
    **named("masked_fill", "input, mask, value", _filled),
    **named("masked_fill_", "input, mask, value", _filled_in_place, function=False),
    **named(
        "isclose",
        "input, other, rtol=1e-05, atol=1e-08, equal_nan=False",
        _common("input", "other", kind=dtypes.boolean),
    ),
    **named(
        _SAME, "input, *further, memory_format=None, requires_grad=True, non_blocking=False", _itself, function=False
    ),
    **named("clone", "input, *, memory_format=None", _itself, method=False),
    **named(
        "to",
        "input, *args, device=None, dtype=None, non_blocking=False, copy=False, memory_format=None",
        _to,
        function=False,
    ),
    **{
        name: made
        for cast, kind in _CASTS.items()
        for name, made in named(cast, "input, *further, memory_format=None", _cast(kind), function=False).items()
    },
    **{
        f"torch.Tensor{sign}": _operator(sign)
        for sign in ("+", "-", "*", "/", "//", "%", "**", "&", "|", "^", "@", "<<", ">>", "neg", "invert", "abs")
    },
    "torch.Tensor.data": Row("input", _itself),
    "torch.Tensor.real": Row("input", like("input", dtypes.unknown)),
}
