"""The plugin's table of NumPy's functions, row by row, against NumPy itself."""

import operator
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy_calls as calls
import pytest
from effort import cheap
from numpy_calls import Call, Generator

from typednn.mypy_plugin.array_functions import TABLE, Misfit, Row, apply
from typednn.mypy_plugin.array_functions.rows import Operands, made
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, DType, Many, Number, Pack, Slice, Value, number
from typednn.shapes import Dim, Flow, differ

CALLS = cheap.max_examples // 4  # of each row
WORDS = {np.dtype(name): name.title().replace("int", "Int").replace("Uint", "UInt").replace("UInt", "UInt") for name in calls.ALL}
REFUSALS = (ValueError, IndexError, np.linalg.LinAlgError)  # what NumPy raises for shapes and axes

GENERATOR = "numpy.random._generator.Generator"

GENERATORS: dict[str, Generator] = {
    **{
        f"numpy.{name}": calls.operands(1)
        for name in [
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
            "cosh",
            "tanh",
            "arcsinh",
            "arccosh",
            "arctanh",
            "deg2rad",
            "rad2deg",
            "degrees",
            "radians",
            "negative",
            "positive",
            "square",
            "reciprocal",
            "conjugate",
            "conj",
            "sign",
            "absolute",
            "abs",
            "floor",
            "ceil",
            "rint",
            "trunc",
            "fabs",
            "isnan",
            "isinf",
            "isfinite",
            "logical_not",
            "signbit",
        ]
    },
    **{f"numpy.{name}": calls.operands(1, calls.EXACT) for name in ("invert", "bitwise_not")},
    **{
        f"numpy.{name}": calls.operands(2)
        for name in [
            "add",
            "subtract",
            "multiply",
            "power",
            "floor_divide",
            "remainder",
            "mod",
            "fmod",
            "maximum",
            "minimum",
            "fmax",
            "fmin",
            "divide",
            "true_divide",
            "equal",
            "not_equal",
            "less",
            "less_equal",
            "greater",
            "greater_equal",
            "logical_and",
            "logical_or",
            "logical_xor",
            "arctan2",
            "hypot",
            "logaddexp",
            "logaddexp2",
            "copysign",
            "nextafter",
        ]
    },
    **{
        f"numpy.{name}": calls.operands(2, calls.EXACT)
        for name in ["bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm"]
    },
    **{name: calls.operands(2, ufunc=False) for name in ["+", "-", "*", "/", "//", "%", "**", "<", "<=", ">", ">=", "==", "!="]},
    **{name: calls.operands(2, calls.EXACT, ufunc=False) for name in ["&", "|", "^", "<<", ">>"]},
    **{name: calls.operands(1, ufunc=False) for name in ("neg", "abs")},
    "invert": calls.operands(1, calls.EXACT, ufunc=False),
    "numpy.divmod": calls.operands(2, ufunc=False),
    "numpy.isclose": calls.operands(2, ufunc=False),
    "numpy.where": calls.where,
    **dict.fromkeys(("numpy.clip", "Array.clip()"), calls.clip),
    **dict.fromkeys(("numpy.round", "numpy.around", "numpy.nan_to_num", "Array.round()", "Array.conj()"), calls.single()),
    **{
        f"{owner}{name}{end}": calls.reduction(dtype=True, out=True)
        for owner, end in (("numpy.", ""), ("Array.", "()"))
        for name in ("sum", "prod", "mean")
    },
    **{f"{owner}{name}{end}": calls.reduction(dtype=True) for owner, end in (("numpy.", ""), ("Array.", "()")) for name in ("std", "var")},
    **{
        f"{owner}{name}{end}": calls.reduction()
        for owner, end in (("numpy.", ""), ("Array.", "()"))
        for name in ("max", "min", "any", "all")
    },
    **{
        f"{owner}{name}{end}": calls.reduction(several=False)
        for owner, end in (("numpy.", ""), ("Array.", "()"))
        for name in ("argmax", "argmin")
    },
    **{f"{owner}{name}{end}": calls.along() for owner, end in (("numpy.", ""), ("Array.", "()")) for name in ("cumsum", "cumprod")},
    **{
        f"numpy.{name}": calls.reduction()
        for name in ["amax", "amin", "nansum", "nanprod", "nanmean", "nanstd", "nanvar", "nanmax", "nanmin", "count_nonzero"]
    },
    **{f"numpy.{name}": calls.reduction(calls.FLOATS) for name in ["median"]},
    **{f"numpy.{name}": calls.reduction(calls.NUMBERS) for name in ["ptp", "average"]},
    **dict.fromkeys(("numpy.sort", "numpy.argsort", "Array.argsort()"), calls.along()),
    **dict.fromkeys(("numpy.partition", "numpy.argpartition"), calls.kth),
    "numpy.diff": calls.difference,
    "numpy.linalg.norm": calls.norm,
    "numpy.bincount": calls.bincount,
    **dict.fromkeys(("numpy.quantile", "numpy.percentile"), calls.quantile),
    **dict.fromkeys(("@", "numpy.matmul", "numpy.dot", "Array.dot()"), calls.product),
    **dict.fromkeys(("numpy.inner", "numpy.outer", "numpy.kron"), calls.pair()),
    "numpy.vdot": calls.vdot,
    "numpy.tensordot": calls.tensordot,
    "numpy.einsum": calls.einsum,
    **dict.fromkeys(("numpy.linalg.inv", "numpy.linalg.cholesky", "numpy.linalg.det"), calls.square),
    "numpy.linalg.solve": calls.solve,
    **dict.fromkeys(("numpy.trace", "Array.trace()", "numpy.diagonal", "Array.diagonal()"), calls.diagonal),
    **dict.fromkeys(("numpy.transpose", "numpy.permute_dims"), lambda r: calls.transpose(r, method=False)),
    "Array.transpose()": lambda r: calls.transpose(r, method=True),
    **dict.fromkeys(
        (
            "Array.T",
            "Array.mT",
            "numpy.matrix_transpose",
            "numpy.ravel",
            "Array.ravel()",
            "Array.flatten()",
            "numpy.flipud",
            "numpy.fliplr",
            "Array.shape",
            "Array.ndim",
            "Array.size",
            "Array.dtype",
            "numpy.shape",
            "numpy.ndim",
            "Array.real",
            "Array.imag",
            "Array.copy()",
            "numpy.copy",
        ),
        calls.single(),
    ),
    "Array.item()": lambda r: ([np.ones(1)], {}),
    **dict.fromkeys(("numpy.swapaxes", "Array.swapaxes()"), calls.two_axes),
    "numpy.moveaxis": calls.moveaxis,
    "numpy.reshape": lambda r: calls.reshape(r, method=False),
    "Array.reshape()": lambda r: calls.reshape(r, method=True),
    "numpy.expand_dims": calls.expand,
    **dict.fromkeys(("numpy.squeeze", "Array.squeeze()"), calls.squeeze),
    "numpy.flip": calls.reduction(),
    "numpy.roll": calls.roll,
    "numpy.rot90": calls.rot90,
    **dict.fromkeys(("numpy.repeat", "Array.repeat()"), calls.repeat),
    "numpy.tile": calls.tile,
    "numpy.broadcast_to": calls.broadcast_to,
    "numpy.broadcast_arrays": calls.operands(3, ufunc=False),
    "numpy.pad": calls.pad,
    **{f"numpy.atleast_{rank}d": calls.several(3) for rank in (1, 2, 3)},
    "Array.astype()": calls.astype,
    **dict.fromkeys(("numpy.tril", "numpy.triu"), calls.triangle),
    "numpy.lib.stride_tricks.sliding_window_view": calls.sliding,
    **dict.fromkeys(("numpy.concatenate", "numpy.concat"), calls.concatenate),
    "numpy.stack": calls.stack,
    **{f"numpy.{name}": calls.joined for name in ("vstack", "hstack", "dstack", "column_stack")},
    **{f"numpy.{name}": calls.split for name in ("split", "array_split")},
    "numpy.append": calls.append,
    **{f"numpy.{name}": calls.new for name in ("zeros", "ones", "empty")},
    "numpy.full": calls.full,
    **{f"numpy.{name}_like": calls.like for name in ("zeros", "ones", "empty")},
    "numpy.full_like": calls.full_like,
    "numpy.array": calls.from_nested_ndmin,
    **{f"numpy.{name}": calls.from_nested for name in ("asarray", "asanyarray", "asarray_chkfinite", "ascontiguousarray")},
    "numpy.arange": calls.arange,
    "numpy.linspace": calls.linspace,
    "numpy.eye": calls.eye,
    "numpy.identity": lambda r: ([r.randint(-1, 4)], {}),
    "numpy.tri": lambda r: ([r.randint(-1, 4)], {"M": r.choice((None, 0, 3))}),
    "numpy.meshgrid": calls.meshgrid,
    "numpy.diag": calls.diag,
    f"{GENERATOR}.standard_normal()": calls.drawn(),
    f"{GENERATOR}.random()": calls.drawn(),
    f"{GENERATOR}.normal()": calls.drawn(0.0, 1.0),
    f"{GENERATOR}.uniform()": calls.drawn(0.0, 1.0),
    f"{GENERATOR}.integers()": calls.drawn(3),
    f"{GENERATOR}.permutation()": calls.permutation,
    "[]": calls.read,
    "[]=": calls.assigned,
    **dict.fromkeys(("numpy.take", "Array.take()"), calls.take),
    "numpy.take_along_axis": calls.take_along,
    "numpy.put_along_axis": calls.put_along,
    **dict.fromkeys(("numpy.nonzero", "Array.nonzero()"), calls.single()),
    "numpy.unique": calls.unique,
    "numpy.searchsorted": calls.searched,
}

OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
    "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift, ">>": operator.rshift, "@": operator.matmul,
    "neg": operator.neg, "invert": operator.invert, "abs": operator.abs, "[]": operator.getitem,
}  # fmt: skip


def run(name: str, arguments: list[Any], keywords: dict[str, Any]) -> Any:
    """What NumPy does."""
    if name == "[]=":
        arguments[0][arguments[1]] = arguments[2]
        return None
    if name in OPERATORS:
        return OPERATORS[name](*arguments)
    if name.startswith(GENERATOR):
        return getattr(np.random.default_rng(0), name.removeprefix(GENERATOR)[1:-2])(*arguments, **keywords)
    if name.startswith("Array."):
        found = getattr(arguments[0], name.removeprefix("Array.").removesuffix("()"))
        return found(*arguments[1:], **keywords) if name.endswith("()") else found
    function: Any = np
    for part in name.split(".")[1:]:
        function = getattr(function, part)
    return function(*arguments, **keywords)


def value(of: Any, sized: Callable[[int], Dim] = Dim.of, are_sizes: bool = False) -> Value:
    """A value as the plugin would have it."""
    match of:
        case np.ndarray():
            return Array(Flow.of([sized(size) for size in of.shape]), WORDS[of.dtype])
        case bool() | float() | str() | None:
            return Constant(of)
        case int():
            return Number(sized(of)) if are_sizes else number(of)
        case tuple() | list():
            return Pack(tuple(value(each, sized, are_sizes) for each in of), frozen=isinstance(of, tuple))
        case slice():
            return Slice(value(of.start), value(of.stop), value(of.step))
        case np.dtype():
            return DType(WORDS[of])
        case type():
            return DType(WORDS[np.dtype(of)])
        case _:
            return Constant(of)


def wrong(claimed: Value, real: Any, substitute: Callable[[Dim], int | None], name: str, *, whole: bool) -> str | None:
    """What the rule claims and NumPy does not do; ``whole``: the rule must know it all."""
    if claimed is UNKNOWN:
        return "unknown" if whole else None
    match claimed:
        case Array(flow=flow, kind=kind):
            real = np.asarray(real)
            if kind in WORDS.values() and kind != WORDS.get(real.dtype):
                return f"{kind} for {real.dtype}"
            if flow.shape is None:
                return "unknown rank" if whole else None
            sizes = [None if size is None else substitute(size) for size in flow.shape]
            if len(sizes) != real.ndim or any(
                mine is not None and mine != size and (mine >= 0 or size) for mine, size in zip(sizes, real.shape, strict=True)
            ):
                return f"{sizes} for {real.shape}"
            return f"unknown size: {sizes} for {real.shape}" if whole and None in sizes else None
        case Pack(items=items):
            if not isinstance(real, tuple | list) or len(items) != len(real):
                return f"{len(items)} elements for {real!r}"
            return next((found for pair in zip(items, real, strict=True) if (found := wrong(*pair, substitute, name, whole=whole))), None)
        case Many():
            return None
        case Number():
            return None if substitute(claimed.size) == real else f"{claimed.size} for {real}"
        case DType(kind=kind):
            return None if kind == WORDS[real] else f"{kind} for {real}"
        case Constant(value=inner):
            return None if inner == real else f"{inner} for {real}"
        case _:
            return None


def has(arguments: list[Any], condition: Callable[[Any], bool]) -> bool:
    return any(has(list(each), condition) if isinstance(each, tuple | list) else condition(each) for each in arguments)


def a_number(of: Any) -> bool:
    return isinstance(of, np.ndarray) and not of.ndim


def a_mask(of: Any) -> bool:
    return isinstance(of, np.ndarray) and of.dtype == bool


# Where a rule may know less than NumPy does: which calls, and why.
LESS_KNOWN: dict[str, Callable[[list[Any]], bool]] = {
    **dict.fromkeys(("numpy.bincount", "numpy.unique", "numpy.nonzero", "Array.nonzero()"), lambda a: True),  # sizes follow from elements
    "Array.item()": lambda a: True,  # a number of which only NumPy knows the value
    "[]": lambda a: has(a[1:], a_mask),  # how many are true
    "numpy.arange": lambda a: has(a, lambda each: isinstance(each, float)),  # rounding decides the length
    "numpy.take_along_axis": lambda a: True,  # of a flattened array
}
# Where a rule may let pass what NumPy refuses.
NOT_REFUSED = {
    "numpy.take_along_axis": "index 0 is out of bounds",  # what the indices hold is not known
    "numpy.put_along_axis": "index 0 is out of bounds",
    **dict.fromkeys(("numpy.take", "Array.take()"), "index 0 is out of bounds"),
    f"{GENERATOR}.integers()": "shape mismatch",  # some shapes that do not fit into size pass
    "numpy.median": "cannot reshape array of size 0",  # over no axes
    "[]=": "setting an array element with a sequence",  # an array of one element for one element: earlier releases allow it
}


def may_pass(name: str, arguments: list[Any], error: Exception) -> bool:
    """Axis 0 of a number passes in some functions and not in others, so no rule refuses it."""
    if name.startswith("[]") and has(arguments[1:], a_mask):
        return True  # how many are true is not known
    return not isinstance(error, REFUSALS) or has(arguments, a_number) or NOT_REFUSED.get(name, "---") in str(error)


def outcome(name: str, arguments: list[Any], keywords: dict[str, Any]) -> tuple[Any, Exception | None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            return run(name, arguments, keywords), None
        except Exception as error:
            return None, error


def shown(name: str, arguments: list[Any], keywords: dict[str, Any]) -> str:
    def brief(of: Any) -> str:
        if isinstance(of, np.ndarray):
            return f"{of.dtype}{of.shape}"
        if isinstance(of, tuple | list):
            return f"{type(of).__name__}({', '.join(map(brief, of))})"
        return repr(of)

    return f"{name}: {', '.join(map(brief, arguments))} {', '.join(f'{key}={brief(each)}' for key, each in keywords.items())}"


def exact(size: Dim) -> int | None:
    return size.value


def check(name: str, row: Row, arguments: list[Any], keywords: dict[str, Any]) -> str | None:
    """What a rule says wrongly of a call all of whose sizes are known."""
    values, named = [value(each) for each in arguments], {key: value(each) for key, each in keywords.items()}
    real, error = outcome(name, arguments, keywords)
    try:
        claimed = apply(row, values, named, differ)
    except Misfit as misfit:
        return f"refused: {misfit}" if error is None else None
    if error is not None:
        return None if may_pass(name, arguments, error) else f"not refused: {error}"
    if name == "[]=":
        return None
    whole = not has(arguments, a_number) and not LESS_KNOWN.get(name, lambda a: False)(arguments)
    return wrong(claimed, real, exact, name, whole=whole)


class Symbols:
    """Some sizes of a call as names, and what these stand for; sizes that a name stands for are 2 or more."""

    def __init__(self, r: random.Random) -> None:
        self.r, self.meant = r, {}

    def sized(self, size: int) -> Dim:
        if size < 2 or self.r.random() < 0.3:
            return Dim.of(size)
        name = f"{self.r.choice('nm')}{size}"
        self.meant[name] = Dim.of(size)
        if self.r.random() < 0.2 and size > 2:  # another size less or more a number
            name = f"n{size - 1}"
            self.meant[name] = Dim.of(size - 1)
            return Dim.named(name) + 1
        return Dim.named(name)

    def substitute(self, size: Dim) -> int | None:
        return size.substitute(self.meant).value


def check_symbolic(name: str, row: Row, arguments: list[Any], keywords: dict[str, Any], r: random.Random) -> str | None:
    """What a rule says wrongly of a call some of whose sizes are names."""
    symbols = Symbols(r)
    whole = name.split(".")[-1].removesuffix("()") in SHAPES
    given = [value(each, symbols.sized, (whole and place > 0) or name in NEW) for place, each in enumerate(arguments)]
    named = {key: value(each, symbols.sized, key in ("shape", "size")) for key, each in keywords.items()}
    real, error = outcome(name, arguments, keywords)
    try:
        claimed = apply(row, given, named, differ)
    except Misfit as misfit:
        return f"refused: {misfit}" if error is None else None
    return None if error is not None or name == "[]=" else wrong(claimed, real, symbols.substitute, name, whole=False)


SHAPES = ("reshape", "broadcast_to", "tile", "sliding_window_view")  # rows whose further arguments are sizes
NEW = ("numpy.zeros", "numpy.ones", "numpy.empty", "numpy.full", "numpy.eye", "numpy.arange", "numpy.tri", "numpy.identity")


def a_call(name: str, r: random.Random) -> Call:
    return GENERATORS[name](r)


def test_each_row_has_calls() -> None:
    assert GENERATORS.keys() == TABLE.keys()


@pytest.mark.parametrize("name", TABLE)
def test_with_all_sizes_known_a_rule_says_what_numpy_does(name: str) -> None:
    r = random.Random(name)
    for _ in range(CALLS):
        arguments, keywords = a_call(name, r)
        found = check(name, TABLE[name], arguments, keywords)
        assert found is None, f"{shown(name, arguments, keywords)}: {found}"


@pytest.mark.parametrize("name", TABLE)
def test_with_names_for_sizes_a_rule_says_nothing_else(name: str) -> None:
    r = random.Random(f"{name}, names")
    for _ in range(CALLS):
        arguments, keywords = a_call(name, r)
        found = check_symbolic(name, TABLE[name], arguments, keywords, r)
        assert found is None, f"{shown(name, arguments, keywords)}: {found}"


def spoiled(of: Value) -> Value:
    """A result with one size too many, or too large by one."""
    match of:
        case Array(flow=flow) if flow.shape is not None:
            last = flow.shape[-1] if flow.shape else None
            return made([*flow.shape[:-1], None if last is None else last + 1] if flow.shape else [Dim.of(1)], of.kind)
        case Pack(items=items) if items:
            return Pack((spoiled(items[0]), *items[1:]), of.frozen)
        case Number():
            return Number(of.size + 1)
        case DType():
            return DType("Int8" if of.kind != "Int8" else "Int16")
        case _:
            return of


def other_kind(of: Value) -> Value:
    """A result of another dtype."""
    return Array(of.flow, "Int16" if of.kind == "Int8" else "Int8") if isinstance(of, Array) else of


# Their result holds no size that could be wrong.
NO_RESULT = {"[]=", "numpy.put_along_axis", "Array.item()", "numpy.unique", "numpy.bincount", "numpy.nonzero", "Array.nonzero()"}


@pytest.mark.parametrize("name", [name for name in TABLE if name not in NO_RESULT])
def test_a_rule_that_gives_a_wrong_size_is_found(name: str) -> None:
    row = Row(TABLE[name].parameters, lambda o: spoiled(TABLE[name].rule(o)))
    r = random.Random(name)
    assert any(check(name, row, *a_call(name, r)) for _ in range(CALLS))


@pytest.mark.parametrize("name", ["+", "numpy.sum", "numpy.concatenate", "@", "numpy.argmax", "numpy.zeros", "[]"])
def test_a_rule_that_gives_a_wrong_dtype_is_found(name: str) -> None:
    row = Row(TABLE[name].parameters, lambda o: other_kind(TABLE[name].rule(o)))
    r = random.Random(name)
    assert any(check(name, row, *a_call(name, r)) for _ in range(CALLS))


@pytest.mark.parametrize("name", ["+", "numpy.sum", "numpy.concatenate", "@", "numpy.reshape", "numpy.einsum", "[]", "[]="])
def test_a_rule_that_refuses_nothing_or_everything_is_found(name: str) -> None:
    def lenient(o: Operands) -> Value:
        try:
            return TABLE[name].rule(o)
        except Misfit:
            return UNKNOWN

    def strict(o: Operands) -> Value:
        raise Misfit("nothing fits")

    for rule in (lenient, strict):
        r = random.Random(name)
        assert any(check(name, Row(TABLE[name].parameters, rule), *a_call(name, r)) for _ in range(CALLS))
