"""One function of NumPy: its signature as NumPy writes it, and the rule that gives its result's shape and dtype.

A rule raises `Misfit` where NumPy certainly raises. What it cannot know is unknown: an axis that is None, `UNKNOWN`, or
`Unclear` where it knows nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias, TypeVar

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.signatures import bound, parameters_of
from typednn.mypy_plugin.bounds import beyond
from typednn.mypy_plugin.values import (
    UNKNOWN,
    Array,
    Constant,
    DType,
    Many,
    Number,
    Pack,
    Reference,
    Value,
    integer_of,
)
from typednn.shapes import Dim, Flow, leave, same

Shape: TypeAlias = "list[Dim | None]"
Differ: TypeAlias = Callable[[Dim, Dim], bool]
Kind: TypeAlias = Callable[..., str]  # the dtype of a result, from those of the arguments
Known = TypeVar("Known")
ONE = Dim.of(1)
NONE = Dim.of(0)


class Misfit(Exception):
    """What does not fit; ``operand`` and ``axis`` name the array and the axis whose size is to blame."""

    def __init__(self, message: str, operand: Value = UNKNOWN, axis: int | None = None) -> None:
        super().__init__(message)
        self.operand: Value = operand
        self.axis: int | None = axis


class Unclear(Exception):
    """What a rule needs is not known: of its result at most the dtype is."""

    def __init__(self, kind: str = "") -> None:
        super().__init__(kind)
        self.kind: str = kind


def certain(value: Known | None, kind: str = "") -> Known:
    """What is known; where it is not, the result is an array of which at most the dtype is."""
    if value is None:
        raise Unclear(kind)
    return value


@dataclass(frozen=True, slots=True)
class Operands:
    """The arguments of one call by name. ``differ``: whether two sizes are never meant to be equal."""

    values: Mapping[str, Value]
    differ: Differ

    def __getitem__(self, name: str) -> Value:
        return self.values[name]

    def given(self, name: str) -> bool:
        """Whether an argument is there and not None."""
        return self.values[name] != Constant(None)

    def flag(self, name: str) -> bool | None:
        """A truth value; None where it is not known."""
        value = self.values[name]
        return bool(value.value) if isinstance(value, Constant) else None

    def integer(self, name: str) -> int | None:
        """A number, if it is known."""
        value = self.values[name]
        return int(value.value) if isinstance(value, Constant) and isinstance(value.value, bool) else integer_of(value)

    def shape(self, name: str) -> Shape | None:
        """The shape of an array, or of what NumPy makes one of."""
        return shape_of(self.values[name], self.differ)

    def kind(self, *names: str) -> str:
        """The dtype of an array, or of several together."""
        return dtypes.promoted(*(kind_of(self.values[name]) for name in names))

    def dtype(self, default: str) -> str:
        """The dtype that ``dtype`` names; the default where it names none."""
        wanted = dtype_of(self.values.get("dtype", Constant(None)))
        return default if wanted is None else wanted

    def both(self, a: str, b: str) -> tuple[Shape, Shape] | None:
        """The shapes of two arrays; None where one of them is not known."""
        first, second = self.shape(a), self.shape(b)
        return None if first is None or second is None else (first, second)

    def axis(self, name: str, shape: Shape, rank: int | None = None) -> int | None:
        """An axis of a shape, counted from the front; None where it is not known."""
        place = self.integer(name)
        return None if place is None else position(place, len(shape) if rank is None else rank, shape)

    def axes(self, name: str, shape: Shape, rank: int | None = None) -> list[int] | None:
        """One axis or several, or all of them; None where they are not known."""
        if not self.given(name):
            return list(range(len(shape) if rank is None else rank))
        places = self.places(name, shape, rank)
        if places is not None and len(set(places)) < len(places):
            raise Misfit(f"axis {tuple(places)}: an axis stands twice")
        return places

    def reduced(self, shape: Shape) -> list[int] | None:
        """The axes that go; a number may count as an axis of one element."""
        if not shape and isinstance(self["axis"], Number):
            self.axis("axis", shape, 1)
            return []
        return self.axes("axis", shape)

    def places(self, name: str, shape: Shape, rank: int | None = None) -> list[int] | None:
        """One axis or several, of which one may stand twice."""
        return places_of(self.values[name], shape, rank)

    def along(self, shape: Shape, *, number: bool = False) -> tuple[Shape, int | None]:
        """The shape, and the axis that ``axis`` names; where it is None, all elements in one row.

        ``number``: a number counts as an axis of one element.
        """
        if not self.given("axis"):
            return [total(shape)], 0
        shape = shape or [ONE] * number
        return shape, self.axis("axis", shape)

    def meet(self, a: Dim | None, b: Dim | None, message: str, blamed: Value, axis: int) -> Dim | None:
        """The size of two axes that must be equal; `Misfit` where they are not."""
        try:
            return met(a, b, self.differ)
        except Conflict:
            raise Misfit(message, blamed, axis) from None

    def broadcast(self, *names: str) -> Shape | None:
        """The common shape of several arguments."""
        return broadcast([self.values[name] for name in names], self.differ)


Rule: TypeAlias = Callable[[Operands], Value]


@dataclass(frozen=True, slots=True)
class Row:
    """``parameters`` is the library's signature: ``a, axis=None, *, keepdims=False``; ``also`` has other names that it
    takes for some of them.
    """

    parameters: str
    rule: Rule
    also: Mapping[str, str] = field(default_factory=dict[str, str])


class Conflict(Exception):
    """Two sizes that must be equal and are not."""


def apply(row: Row, arguments: Sequence[Value], keywords: Mapping[str, Value], differ: Differ) -> Value:
    """The result for these arguments; `Misfit` where NumPy raises."""
    values = bound(row.parameters, row.also, arguments, keywords)
    if values is None:
        return UNKNOWN
    operands = Operands(values, differ)
    try:
        return row.rule(operands)
    except Unclear as error:
        return into(operands, None, error.kind)


# ------------------------------------------------------------------ shapes


def made(shape: Sequence[Dim | None] | None, kind: str = "") -> Value:
    """An array."""
    kind = dtypes.strong(kind)
    if shape is None:
        return Array(Flow.start(None), kind) if kind else UNKNOWN
    return Array(Flow.of(shape), kind)


def shape_of(value: Value, differ: Differ) -> Shape | None:
    """The shape of an array, a number, or nested tuples and lists of them."""
    match value:
        case Many(item=item):
            shape = shape_of(item, differ)
            return None if shape is None else [None, *shape]
        case Array(flow=flow):
            return flow.shape
        case Number() | Constant(value=bool() | int() | float() | complex()):
            return []
        case Pack(items=items, keys=()):
            known = [shape for each in items if (shape := shape_of(each, differ)) is not None]
            if len(known) < len(items):
                return None
            if not items:
                return [Dim.of(0)]
            if any(len(each) != len(known[0]) for each in known):
                raise Misfit(
                    f"the parts of an array have {listed([Dim.of(len(each)) for each in known])} axes; all need "
                    "the same shape"
                )
            try:
                sizes = [reduce(lambda a, b: met(a, b, differ), column) for column in zip(*known, strict=True)]
            except Conflict:
                raise Misfit(
                    f"the parts of an array have other shapes: {' and '.join(written(each) for each in known)}"
                ) from None
            return [Dim.of(len(items)), *sizes]
        case _:
            return None


def like(name: str, kind: Kind) -> Rule:
    """The rule of a function that keeps the shape of one argument."""
    return lambda o: made(o.shape(name), kind(o.kind(name)))


def matrix(o: Operands, name: str, what: str) -> Shape | None:
    """The shape of a matrix, or of several; None where it is not known."""
    shape = o.shape(name)
    if shape is not None and len(shape) < 2:
        raise Misfit(f"{what} of {written(shape)}: needs a matrix, 2 axes")
    return shape


def kind_of(value: Value) -> str:
    """The dtype; of Python's own numbers the weak ones."""
    match value:
        case Array(kind=kind):
            return kind
        case Constant(value=bool()):
            return dtypes.WEAK_BOOL
        case Number() | Constant(value=int()):
            return dtypes.WEAK_INT
        case Constant(value=float()):
            return dtypes.WEAK_FLOAT
        case Many(item=item):
            return dtypes.strong(kind_of(item))
        case Pack(items=items, keys=()) if items:
            return dtypes.promoted(*(dtypes.strong(kind_of(each)) for each in items))
        case _:
            return ""


def dtype_of(value: Value) -> str | None:
    """What ``dtype=`` names; None where it is None."""
    match value:
        case Constant(value=None):
            return None
        case DType(kind=kind):
            return kind
        case Constant(value=str() as name):
            return dtypes.BY_NAME.get(name, "")
        case Reference(node=node):
            return {"builtins.float": "Float64", "builtins.int": "Int64", "builtins.bool": "Bool"}.get(
                str(getattr(node, "fullname", "")), ""
            )
        case _:
            return ""


def met(a: Dim | None, b: Dim | None, differ: Differ) -> Dim | None:
    """The size of two axes that must be equal."""
    if a is None or b is None:
        leave(a, b)
        return b if a is None else a
    if same(a, b):
        return a
    if differ(a, b):
        raise Conflict
    return a if a.value is not None else b if b.value is not None else None


def broadcast(values: Sequence[Value], differ: Differ) -> Shape | None:
    """The common shape of several arrays."""
    result: Shape | None = []
    before: Value = UNKNOWN
    for value in values:
        shape = shape_of(value, differ)
        result = None if result is None or shape is None else _broadcast(result, shape, before, value, differ)
        before = made(result) if before is not UNKNOWN else value
    return result


def _broadcast(a: Shape, b: Shape, left: Value, right: Value, differ: Differ) -> Shape:
    rank = max(len(a), len(b))
    ones: Shape = [ONE] * rank
    result: Shape = []
    for place, (x, y) in enumerate(zip(ones[len(a) :] + a, ones[len(b) :] + b, strict=True)):
        if x is None or y is None:
            known = y if x is None else x
            leave(x, y)
            result.append(known if known is not None and (known.value or 1) > 1 else None)
        elif x.value == 1 or y.value == 1:
            result.append(y if x.value == 1 else x)
        elif same(x, y):
            result.append(x)
        elif _apart(x, y, differ):
            blamed = right if place - rank + len(b) >= 0 else left
            own = len(b) if blamed is right else len(a)
            raise Misfit(
                f"{written(a)} and {written(b)} do not fit together: axis {place} is {x} and {y}",
                blamed,
                place - rank + own,
            )
        else:
            result.append(x if (x.value or 1) > 1 else y if (y.value or 1) > 1 else None)
    return result


def _apart(x: Dim, y: Dim, differ: Differ) -> bool:
    """Whether neither of two axes can be stretched to the other; a slice may have one element."""
    return (x.value is not None and y.value is not None) or (differ(x, y) and not beyond(x, y))


def fits_into(shape: Shape, target: Shape, differ: Differ, what: str, *, ones: bool = False) -> None:
    """Whether an array broadcasts to a shape that stays as it is; ``ones``: axes of one element in front may be too
    many.
    """
    further = shape[: max(0, len(shape) - len(target))]
    if further and not (
        ones and all(each is None or (each.value in (None, 1) and not differ(each, ONE)) for each in further)
    ):
        raise Misfit(f"{what}: {written(shape)} does not fit into {written(target)}")
    for place, (x, y) in enumerate(zip(reversed(shape), reversed(target), strict=False)):
        if x is None or y is None:
            leave(x, y)
            continue
        if x.value == 1 or same(x, y):
            continue
        if _apart(x, y, differ):
            axis = len(target) - 1 - place
            raise Misfit(
                f"{what}: {written(shape)} does not fit into {written(target)}: axis {axis} is {y} and gets {x}"
            )


def into(o: Operands, shape: Shape | None, kind: str, *, stretched: bool = False, deeper: bool = False) -> Value:
    """The result, or ``out`` with it; it may be ``stretched`` along axes of one element, and have further axes in
    front.
    """
    out = o.values.get("out", Constant(None))
    if out == Constant(None):
        return made(shape, kind)
    target = o.shape("out")
    if target is not None and shape is not None:
        if not deeper and len(shape) != len(target):
            raise Misfit(f"out: the result is {written(shape)}, out is {written(target)}")
        fits_into(shape, target, o.differ, "out")
        if not stretched:
            fits_into(target, shape, o.differ, "out")
    return out


def gathered(o: Operands, name: str) -> tuple[Sequence[Value], list[Shape]]:
    """Several arrays in a tuple or list, and their shapes; `Unclear` where one of them is not known."""
    values = o[name]
    if not isinstance(values, Pack) or values.keys:
        raise Unclear
    return values.items, list(map(certain, [shape_of(each, o.differ) for each in values.items]))


def replaced(shape: Shape, place: int, *sizes: Dim | None) -> Shape:
    """A shape with other sizes in place of one axis."""
    return [*shape[:place], *sizes, *shape[place + 1 :]]


def places_of(value: Value, shape: Shape, rank: int | None = None) -> list[int] | None:
    """The axes that a number, or a tuple of numbers, names; None where they are not known."""
    numbers = [integer_of(each) for each in (value.items if isinstance(value, Pack) else (value,))]
    known = [position(each, len(shape) if rank is None else rank, shape) for each in numbers if each is not None]
    return known if len(known) == len(numbers) else None


def borrowed(row: Row, parameters: str, **names: str) -> Row:
    """The rule of a row under another signature; ``names`` has the new name of each of its parameters that has one."""
    defaults = {name: value for name, value in parameters_of(row.parameters).items() if value is not UNKNOWN}

    def rule(o: Operands) -> Value:
        given = {name: names.get(name, name) for name in (*defaults, *names)}
        known = {name: o.values[new] for name, new in given.items() if new in o.values}
        return row.rule(Operands({**defaults, **o.values, **known}, o.differ))

    return Row(parameters, rule)


def inserted(shape: Shape, axis: int, size: Dim | None) -> Shape:
    """A shape with a further axis."""
    place = position(axis, len(shape) + 1)
    return [*shape[:place], size, *shape[place:]]


def position(place: int, rank: int, shown: Sequence[Dim | None] = ()) -> int:
    """An axis, counted from the front."""
    if not -rank <= place < rank:
        of = f" of {written(shown)}" if shown else ""
        raise Misfit(f"axis {place}{of}: has {rank} {'axis' if rank == 1 else 'axes'}")
    return place % rank


def total(shape: Sequence[Dim | None]) -> Dim | None:
    """The number of elements."""
    known = [size for size in shape if size is not None]
    return math.prod(known, start=ONE) if len(known) == len(shape) else None


def share(size: Dim | None, parts: Dim | None) -> Dim | None:
    """The size of one of so many equal parts; None where it is not known to be one."""
    if size is None or parts is None or not parts.terms:
        return None
    each = size // parts
    return each if each * parts == size else None


def sizes_of(value: Value) -> Shape | None:
    """A shape that is given as an argument: a number or a tuple of numbers."""
    match value:
        case Number():
            return [value.size]
        case Pack(items=items, keys=()):
            return [each.size if isinstance(each, Number) else None for each in items]
        case _:
            return None


def listed(shape: Sequence[Dim | None]) -> str:
    """``batch, 12``."""
    return ", ".join("_" if size is None else str(size) for size in shape)


def outside(shape: Shape, places: Sequence[int]) -> Shape:
    """A shape without some of its axes."""
    return [size for place, size in enumerate(shape) if place not in places]


def written(shape: Sequence[Dim | None]) -> str:
    """``(batch, 12)``."""
    return f"({listed(shape)}{',' * (len(shape) == 1)})"
