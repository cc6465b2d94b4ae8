"""NumPy's own answer to a call, the table's answer to the same call, and what is wrong with the second."""

import operator
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from typednn.mypy_plugin.array_functions import TABLE, Misfit, Row, apply, dtypes
from typednn.mypy_plugin.values import UNKNOWN, Array, Constant, DType, Many, Number, Pack, Slice, Value, number
from typednn.shapes import Dim, Flow, differ

GENERATOR = "numpy.random._generator.Generator."
OLDER_GENERATOR = "numpy.random.mtrand.RandomState."
GENERATORS: dict[str, Callable[[int], Any]] = {GENERATOR: np.random.default_rng, OLDER_GENERATOR: np.random.RandomState}
WORDS = {
    name: dtypes.BY_NAME[name]
    for name in dtypes.BY_NAME
    if hasattr(np, name) and name not in ("float", "int", "complex")
}
OPERATORS: dict[str, Callable[..., Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "@": operator.matmul, "neg": operator.neg, "invert": operator.invert,
    "abs": operator.abs, "[]": operator.getitem,
}  # fmt: skip
IN_PLACE: dict[str, Callable[..., Any]] = {
    "+": operator.iadd, "-": operator.isub, "*": operator.imul, "/": operator.itruediv, "//": operator.ifloordiv,
    "%": operator.imod, "**": operator.ipow, "&": operator.iand, "|": operator.ior, "^": operator.ixor,
    "<<": operator.ilshift, ">>": operator.irshift, "@": operator.imatmul,
}  # fmt: skip
DTYPE_ERRORS = (TypeError, np.exceptions.DTypePromotionError)
RAISED = (ValueError, IndexError, TypeError, ZeroDivisionError)  # AxisError and LinAlgError are ValueErrors


@dataclass
class Case:
    """One call, with the arguments that NumPy gets."""

    arguments: Sequence[Any] = ()
    keywords: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return ", ".join(
            [*map(written, self.arguments), *(f"{name}={written(value)}" for name, value in self.keywords.items())]
        )


def written(value: Any) -> str:
    """An argument in a message."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}"
    if isinstance(value, tuple | list):
        inner = ", ".join(map(written, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner},)"
    return repr(value)


# ---------------------------------------------------------------------------------------------------- NumPy


def computed(name: str, case: Case) -> Any:
    """What NumPy gives."""
    arguments, keywords = case.arguments, case.keywords
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        if name in IN_PLACE and "out" in keywords:
            return IN_PLACE[name](arguments[0].copy(), arguments[1])
        if name in OPERATORS:
            return OPERATORS[name](*arguments)
        if name.endswith(".at"):
            getattr(np, name.split(".")[1]).at(arguments[0].copy(), *arguments[1:])
            return None
        if name == "[]=":
            target = arguments[0].copy()
            target[arguments[1]] = arguments[2]
            return target
        for owner, made in GENERATORS.items():
            if name.startswith(owner):
                return getattr(made(0), name.removeprefix(owner).removesuffix("()"))(*arguments, **keywords)
        if name.startswith("Array."):
            found = getattr(np.asarray(arguments[0]), name.removeprefix("Array.").removesuffix("()"))
            return found(*arguments[1:], **keywords) if name.endswith("()") else found
        function: Any = np
        for part in name.removeprefix("numpy.").split("."):
            function = getattr(function, part)
        return function(*arguments, **keywords)


# ---------------------------------------------------------------------------------------------------- the table


@dataclass
class Reading:
    """Makes the table's values of arguments; sizes in ``symbols`` become names."""

    symbols: Mapping[int, str] = field(default_factory=dict)

    def size(self, value: int) -> Dim:
        return Dim.named(self.symbols[value]) if value in self.symbols else Dim.of(value)

    def value(self, given: Any, *, is_size: bool = False) -> Value:
        match given:
            case bool() | None | float() | complex() | str():
                return Constant(given)
            case int():
                return Number(self.size(given)) if is_size else number(given)
            case tuple() | list():
                items = tuple(self.value(each, is_size=is_size) for each in given)
                return Pack(items, frozen=isinstance(given, tuple))
            case np.ndarray():
                return Array(Flow.of([self.size(each) for each in given.shape]), WORDS[given.dtype.name])
            case slice():
                return Slice(*map(self.value, (given.start, given.stop, given.step)))
            case type() if issubclass(given, np.generic):
                return DType(WORDS[given.__name__])
            case _ if given is Ellipsis:
                return Constant(given)
        raise TypeError(f"no value of the plugin for {given!r}")


def answer(name: str, case: Case, row: Row, reading: Reading) -> Value:
    """What the table gives; `Misfit` where it says that NumPy raises."""
    sized = ("shape", "newshape", "size", "new_shape")
    positions = [each.strip() for each in row.parameters.replace("/", "").split(",")]
    named = [positions[place] if place < len(positions) else "" for place in range(len(case.arguments))]
    values = [
        reading.value(each, is_size=name.removeprefix("*") in sized)
        for each, name in zip(case.arguments, named, strict=True)
    ]
    if name == "Array.reshape()":
        values[1:] = [reading.value(each, is_size=True) for each in case.arguments[1:]]
    return apply(
        row, values, {key: reading.value(each, is_size=key in sized) for key, each in case.keywords.items()}, differ
    )


def unknown(value: Value) -> bool:
    """Whether any size is not known."""
    match value:
        case Array(flow=flow):
            return flow.shape is None or None in flow.shape
        case Pack(items=items):
            return any(map(unknown, items))
        case Many():
            return True
        case _:
            return value is UNKNOWN


def shown(result: Any) -> str:
    """A result in a message."""
    return str(tuple(map(shown, result)) if isinstance(result, tuple | list) else np.shape(result))


def contradiction(value: Value, result: Any, sizes: Mapping[str, Dim]) -> str:
    """What the table says and NumPy does not."""
    match value:
        case Array(flow=flow, kind=kind):
            if not isinstance(result, np.ndarray | np.generic | bool):
                return f"the table says an array, NumPy gives {type(result).__name__}"
            real = np.asarray(result)
            shape = flow.shape
            if shape is not None:
                known = [None if size is None else size.substitute(sizes).value for size in shape]
                if sizes:  # a formula below zero: the slice holds nothing
                    known = [None if size is None else max(size, 0) for size in known]
                if len(known) != real.ndim or any(
                    a is not None and a != b for a, b in zip(known, real.shape, strict=True)
                ):
                    return f"the table says {tuple(known)}, NumPy gives {real.shape}"
            word = WORDS.get(real.dtype.name, real.dtype.name)
            if kind and kind != word and kind != dtypes.family(word):
                return f"the table says {kind}, NumPy gives {word}"
        case Pack(items=items):
            if not isinstance(result, tuple | list) or len(result) != len(items):
                return f"the table says {len(items)} values, NumPy gives {type(result).__name__}"
            return next(filter(None, (contradiction(a, b, sizes) for a, b in zip(items, result, strict=True))), "")
        case Many(item=item):
            return next(filter(None, (contradiction(item, each, sizes) for each in result)), "")
        case Number(size=size):
            if size.substitute(sizes).value != result:
                return f"the table says {size}, NumPy gives {result!r}"
        case Constant(value=constant):
            if constant is not result and constant != result:
                return f"the table says {constant!r}, NumPy gives {type(result).__name__}"
        case DType(kind=kind):
            if kind and kind != WORDS[np.dtype(result).name]:
                return f"the table says {kind}, NumPy gives {result}"
        case _:
            pass
    return ""


@dataclass(frozen=True)
class Verdict:
    """``wrong`` is empty where the table is right; ``open`` where it says too little: an unknown result, or an error of
    NumPy's.
    """

    wrong: str = ""
    open: str = ""


@dataclass(frozen=True)
class Library:
    """What a row is compared with: NumPy, or another library."""

    name: str
    compute: Callable[[str, Case], Any]  # the result of a call; one of `RAISED` where the library refuses it
    about_dtypes: Callable[[Exception], bool]  # whether an error is about dtypes alone
    gives: Callable[[Value], Value] = lambda value: value  # what a row says of the library's arrays

    def answer(self, name: str, case: Case, row: Row, reading: "Reading") -> Value:
        """What the table gives; `Misfit` where it says that the library raises."""
        return self.gives(answer(name, case, row, reading))


NUMPY = Library("NumPy", computed, lambda error: isinstance(error, DTYPE_ERRORS))


def judged(
    name: str, case: Case, symbols: Mapping[int, str], row: Row | None = None, library: Library = NUMPY
) -> Verdict:
    """The table against a library."""
    try:
        result, error = library.compute(name, case), None
    except RAISED as raised:
        result, error = None, raised
    told = f"{name}({case})"
    try:
        value = library.answer(name, case, row or TABLE[name], Reading(symbols))
    except Misfit as misfit:
        return (
            Verdict()
            if error is not None
            else Verdict(f"{told}: the table refuses it ({misfit}), {library.name} does not")
        )
    if error is not None:
        return (
            Verdict()
            if symbols or library.about_dtypes(error)
            else Verdict(open=f"{told}: only {library.name} refuses it ({error})")
        )
    wrong = contradiction(value, result, {name: Dim.of(size) for size, name in symbols.items()})
    if wrong:
        return Verdict(f"{told}: {wrong}")
    return (
        Verdict(open=f"{told}: not known; {library.name} gives {shown(result)}")
        if unknown(value) and not symbols
        else Verdict()
    )
