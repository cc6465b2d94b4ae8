"""Functions that make arrays."""

from __future__ import annotations

from typednn.mypy_plugin.array_functions import creation
from typednn.mypy_plugin.array_functions.creation import asked
from typednn.mypy_plugin.array_functions.rows import Misfit, Operands, Row, Rule, borrowed, certain, made, written
from typednn.mypy_plugin.array_functions.torch_functions.arguments import named, row, several
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, DType, Number, Pack, Value
from typednn.shapes import Dim


def _kind(o: Operands, default: str = "") -> str:
    wanted = o.values.get("dtype", Constant(None))
    return default if wanted == Constant(None) else wanted.kind if isinstance(wanted, DType) else ""


def _new(default: str = "") -> Rule:
    def rule(o: Operands) -> Value:
        sizes = several(o["size"])
        return made(asked(Operands({"size": sizes}, o.differ), "size"), _kind(o, default))

    return rule


def _like(default: str = "") -> Rule:
    def rule(o: Operands) -> Value:
        return made(o.shape("input"), _kind(o, default or o.kind("input")))

    return rule


def _full(o: Operands) -> Value:
    return _new(o.kind("fill_value"))(o)


def _whole_numbers(o: Operands) -> Value:
    """``randint(high, size)``, ``randint(low, high, size)``."""
    given = [o[name] for name in ("low", "high", "size") if o.given(name)]
    size = next((each for each in given if isinstance(each, Pack)), None)
    return UNKNOWN if size is None else _new("Int64")(Operands({**o.values, "size": size}, o.differ))


def _of_data(o: Operands) -> Value:
    value = UNKNOWN if "input" in o.values else o["data"]  # x.new_tensor(data): of the dtype of x
    return made(o.shape("data"), _kind(o, o.kind("data") if isinstance(value, Array | Pack) else ""))


def _spaced(o: Operands) -> Value:
    count, ends = o["steps"], (o.shape("start"), o.shape("end"))
    if any(ends):
        return UNKNOWN
    return made([count.size if isinstance(count, Number) else None], _kind(o))


def _hot(o: Operands) -> Value:
    classes = o["num_classes"]
    size = classes.size if isinstance(classes, Number) and classes.size != Dim.of(-1) else None
    return made([*certain(o.shape("tensor")), size], "Int64")


def _permutation(o: Operands) -> Value:
    count = o["n"]
    return made([count.size if isinstance(count, Number) else None], _kind(o, "Int64"))


def _drawn(o: Operands) -> Value:
    """``multinomial``: so many of each row."""
    shape, count = certain(o.shape("input")), o["num_samples"]
    if len(shape) not in (1, 2):
        raise Misfit(f"multinomial of {written(shape)}: needs 1 or 2 axes")
    return made([*shape[:-1], count.size if isinstance(count, Number) else None], "Int64")


_FURTHER = "dtype=None, layout=None, device=None, requires_grad=False, pin_memory=False"
_SIZES = f"*size, out=None, {_FURTHER}, generator=None, memory_format=None"
_LIKE = f"input, *, {_FURTHER}, memory_format=None"
_DATA = "data, *, dtype=None, device=None, requires_grad=False, pin_memory=False"

TABLE: dict[str, Row] = {
    **named("zeros ones empty rand randn", _SIZES, _new(), method=False),
    **named("full", f"size, fill_value, *, out=None, {_FURTHER}", _full, method=False),
    **named("zeros_like ones_like empty_like rand_like randn_like", _LIKE, _like(), method=False),
    **named("full_like", f"input, fill_value, *, {_FURTHER}, memory_format=None", _like(), method=False),
    **named("randint_like", f"input, low=0, high=None, *, {_FURTHER}, memory_format=None", _like(), method=False),
    **named(
        "randint", f"low, high=None, size=None, *, generator=None, out=None, {_FURTHER}", _whole_numbers, method=False
    ),
    **named("bernoulli", "input, p=None, *, generator=None, out=None", _like()),
    **named("multinomial", "input, num_samples, replacement=False, *, generator=None, out=None", _drawn),
    **named(
        "arange",
        f"start=None, end=None, step=None, *, out=None, {_FURTHER}",
        borrowed(creation.TABLE["numpy.arange"], "", stop="end").rule,
        method=False,
    ),
    **named("linspace logspace", f"start, end, steps, base=10.0, *, out=None, {_FURTHER}", _spaced, method=False),
    **named(
        "eye",
        f"n, m=None, *, out=None, {_FURTHER}",
        borrowed(creation.TABLE["numpy.eye"], "", N="n", M="m").rule,
        method=False,
    ),
    **named("tensor", _DATA, _of_data, method=False),
    **named(
        "as_tensor asarray", "data, dtype=None, device=None, *, copy=None, requires_grad=False", _of_data, method=False
    ),
    **named("from_numpy", "data, /", _of_data, method=False),
    **named("randperm", f"n, *, generator=None, out=None, {_FURTHER}", _permutation, method=False),
    **named("new_zeros new_ones new_empty", f"input, *size, {_FURTHER}", _new(), function=False),
    **named("new_full", f"input, size, fill_value, *, {_FURTHER}", _full, function=False),
    **named("new_tensor", "input, data, *, dtype=None, device=None, requires_grad=False", _of_data, function=False),
    "torch.nn.functional.one_hot": row("tensor, num_classes=-1", _hot),
}
