"""Annotation strings, and matching them against shapes as jaxtyping does.

One annotation is one axis per word: ``batch (height-{self.kernel_size[0]})//{self.stride[0]}+1 {self.out_channels}``.

    height                  a name: bound by the first array that has it, the same size ever after
    28, height//2+1         a number; an expression over names that are bound by then
    {self.in_features}      a size of the layer
    *input, ...             any number of axes, bound as a whole, or not bound
    _                       any size
    #height                 this size, or 1
    rows=28                 28; what stands before = only documents it
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TypeAlias

from typednn.errors import DefinitionError
from typednn.shapes.dims import Dim, differ, leave, same, solve
from typednn.shapes.expressions import Lookup, evaluate, unknown, write

Shape: TypeAlias = "Sequence[Dim | None]"
# jaxtyping's words for dtypes. Any other type with a string in it (Literal, dict, Annotated) says nothing about arrays.
DTYPE_WORDS = frozenset([
    "Float", "Float16", "Float32", "Float64", "BFloat16", "Int", "Int8", "Int16", "Int32", "Int64", "UInt", "UInt8",
    "UInt16", "UInt32", "UInt64", "Integer", "Bool", "Num", "Real", "Inexact", "Complex", "Complex64", "Complex128",
    "Shaped",
])  # fmt: skip


@dataclass(frozen=True, slots=True)
class Slot:
    """One word of an annotation."""

    source: str
    text: str  # the name or expression; empty if it binds nothing
    title: str = ""  # what stands before =
    variadic: bool = False
    broadcast: bool = False

    @property
    def is_name(self) -> bool:
        """Whether it can bind a name to one size."""
        return self.text.isidentifier() and not self.variadic

    @property
    def key(self) -> str:
        """What other annotations of one call refer to it by: ``height``, ``*shape``; empty where they cannot."""
        return (
            ""
            if self.broadcast or not (self.variadic or self.is_name) or not self.text
            else f"{'*' * self.variadic}{self.text}"
        )

    @property
    def names(self) -> set[str]:
        """The keys of its parts: ``batch*time`` has two."""
        names: set[str] = set()
        if self.variadic or not self.text:
            return {self.key} - {""}
        evaluate(self.text, lambda name: names.add(name))
        return names

    @property
    def label(self) -> str:
        """What the axis is called: ``in_features`` for ``{self.in_features}``."""
        return self.title or re.sub(r"\{(?:self\.)?([^{}]*)\}", r"\1", self.text).replace("self.", "")

    def described(self, size: Dim | None) -> str:
        """The axis in a list of what is expected: ``in_features=784``."""
        if not self.text:
            return self.source
        if size is None or size == Dim.named(self.text):
            return self.label
        named = self.title or self.is_name or re.fullmatch(r"\{self\.\w+\}", self.text)
        return f"{self.label}={size}" if named else str(size)


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One thing that cannot be right."""

    axis_index: int | None  # position; None where the number of axes, or a condition between sizes, does not hold
    label: str
    expected: str
    got: str
    source: str  # the word of the annotation
    how: str = ""  # of a condition: its arithmetic, ``10*13*6``

    @property
    def argument(self) -> str:
        """The layer's argument that gives the size: ``in_features`` for ``{self.in_features}``."""
        attribute = re.fullmatch(r"(?:\w+=)?\{self\.(\w+)\}", self.source)
        return attribute[1] if attribute else ""

    @property
    def counted(self) -> str:
        """``256 features``, ``1 feature``; empty where the axis is not called after what it counts."""
        if not self.label.isidentifier() or not self.label.endswith("s"):
            return ""
        return (
            f"{self.expected} "
            f"{self.label[:-1] if self.expected == '1' and not self.label.endswith('ss') else self.label}"
        )

    def sentence(self, why: str = "") -> str:
        """``expects 256 features, gets 400``, with ``why`` after it."""
        named = self.label and self.label != self.expected
        expected = self.counted or (f"{self.label} to be {self.expected}" if named else self.expected)
        return f"expects {expected}, gets {self.got}{why}"


@lru_cache(maxsize=4096)
def parse(annotation: str) -> tuple[Slot, ...]:
    """The slots of an annotation; `DefinitionError` if it is not one that can be checked."""
    try:
        slots = tuple(_slot(word) for word in annotation.split())
        if sum(slot.variadic for slot in slots) > 1:
            raise DefinitionError("only one * or ... can stand in one annotation")
    except DefinitionError as error:
        raise DefinitionError(f'annotation "{annotation}": {error}') from None
    return slots


def _slot(word: str) -> Slot:
    if word == "...":
        return Slot(word, "", variadic=True)
    before, equals, after = word.rpartition("=") if word.count("=") == 1 else ("", "", word)
    title, text = before.lstrip("*_#?"), after.lstrip("*_#?")
    marks = before.removesuffix(title) + after.removesuffix(text)
    anonymous, variadic, broadcast = "_" in marks, "*" in marks, "#" in marks
    rules = {
        "= stands between a name that documents the axis and its size": not equals or (title.isidentifier() and after),
        "only one each of *, _ and # can stand before a name": "?" not in marks and len(set(marks)) == len(marks),
        "_ stands for any size, so only a name can follow it": not anonymous
        or (not broadcast and (not text or text.isidentifier())),
        "* stands for any number of axes, so one name must follow it": not variadic or anonymous or text.isidentifier(),
    }
    for rule, holds in rules.items():
        if not holds:
            raise DefinitionError(f'axis "{word}": {rule}')
    if anonymous:
        return Slot(word, "", title, variadic)
    size = evaluate(text, unknown)
    if size is not None and size.value is not None and size.value < 0:
        raise DefinitionError(f'axis "{word}": no axis has {size} elements; write an expression without spaces')
    return Slot(word, text, title, variadic, broadcast)


def label(name: str) -> str:
    """What people call an axis: ``in_features`` and ``num_features`` are "features" in a sentence about two layers."""
    return re.sub(r"^(in|out|num)_(?=\w+$)", "", name)


def rank(annotation: str) -> int | None:
    """How many axes an annotation has; None if any number."""
    slots = parse(annotation)
    return None if any(slot.variadic for slot in slots) else len(slots)


def sizes(annotation: str, attributes: Lookup) -> tuple[int, ...]:
    """A shape of numbers only, such as a parameter's ``{self.out_features} {self.in_features}``."""
    known: list[int] = []
    for slot in parse(annotation):
        dim = evaluate(slot.text, unknown, attributes) if slot.text else None
        if dim is None or dim.value is None:
            raise DefinitionError(
                f'axis "{slot.source}" of "{annotation}": a parameter\'s size must follow from its layer\'s '
                "attributes, "
                f"got {slot.source if dim is None else dim}; write a number or {{self.…}} of an integer attribute"
            )
        known.append(dim.value)
    return tuple(known)


def align(slots: Sequence[Slot], count: int) -> list[Slot] | None:
    """One slot per axis, for a shape of ``count`` axes; None if the annotation has another number of axes."""
    extra = count - len(slots) + 1  # the axes of the one slot that may be variadic
    if extra < 0 or (extra != 1 and not any(slot.variadic for slot in slots)):
        return None
    return [axis for slot in slots for axis in [slot] * (extra if slot.variadic else 1)]


def number_of_axes(count: int) -> str:
    """``2 axes``."""
    return f"{count} {'axis' if count == 1 else 'axes'}"


def count_axes(axes: Sequence[str]) -> str:
    """``2 axes (batch, 10)``."""
    return f"{number_of_axes(len(axes))} ({', '.join(axes)})"


class Unifier:
    """The names of one call, bound from left to right: `bind` each argument in turn, then ask for the `result`.

    Afterwards ``mismatches`` holds what cannot be right, ``refined`` the names in the shapes that turned out to
    be a number or another name, ``open`` the pairs of sizes that must be equal and may or may not be.
    """

    def __init__(self, attributes: Lookup = unknown, differs: Callable[[Dim, Dim], bool] = differ) -> None:
        self.attributes = attributes
        self.differs = differs  # whether two sizes certainly differ
        self.sizes: dict[str, Dim | None] = {}
        self.groups: dict[str, Shape] = {}
        self.stretched: dict[str, list[Shape]] = {}  # what was bound to ``*#name``
        self.mismatches: list[Mismatch] = []
        self.refined: dict[str, Dim] = {}
        self.open: list[tuple[Dim, Dim]] = []

    def bind(self, annotation: str, shape: Shape | None) -> Shape | None:
        """Match one argument; gives what is known about its shape by then."""
        if shape is None:
            return None
        slots = parse(annotation)
        layout = align(slots, len(shape))
        if layout is None:
            fixed = [slot for slot in slots if not slot.variadic]
            expected = ("at least " if len(fixed) < len(slots) else "") + count_axes(
                [slot.described(self.size(slot)) for slot in fixed]
            )
            self.mismatches.append(Mismatch(None, "", expected, count_axes(list(map(written, shape))), annotation))
            return shape
        known = [
            self._axis(index, slot, size) if slot.text and not slot.variadic else size
            for index, (slot, size) in enumerate(zip(layout, shape, strict=True))
        ]
        for slot in slots:
            if slot.variadic and slot.text:
                axes = [index for index, axis in enumerate(layout) if axis.variadic]
                bound = self._stretched if slot.broadcast else self._group
                bound(slot, axes[0] if axes else None, [shape[index] for index in axes])
        return known

    def result(self, annotation: str) -> Shape | None:
        """The shape that a return annotation promises, as far as it is known; None if the number of axes is not."""
        shape: list[Dim | None] = []
        for slot in parse(annotation):
            if not slot.variadic:
                shape.append(self.size(slot))
            elif (group := self.groups.get(slot.text)) is not None:
                shape.extend(None if size is None else size.substitute(self.refined) for size in group)
            else:
                return None
        return shape

    def size(self, slot: Slot) -> Dim | None:
        """What one slot stands for under the bindings made so far; None also for an axis that may be broadcast."""
        if not slot.text or slot.variadic or slot.broadcast:
            return None
        return evaluate(slot.text, self.lookup, self.attributes)

    def lookup(self, name: str) -> Dim | None:
        """What is known of a name by now."""
        dim = self.sizes.get(name)
        return None if dim is None else dim.substitute(self.refined)

    def require(self, condition: str) -> None:
        """Demand ``left==right`` of sizes that are bound."""
        left, right = condition.split("==")
        actual, expected = evaluate(left, self.lookup, self.attributes), evaluate(right, self.lookup, self.attributes)
        if actual is None or expected is None:
            return
        size = re.fullmatch(r"\{self\.(\w+)\}", right)  # of the layer: it says what the other side counts
        earlier = len(self.mismatches)
        self._settle(None, size[1] if size else left, expected, actual, right if size else condition)
        if size and len(self.mismatches) > earlier:
            self.mismatches[-1] = replace(self.mismatches[-1], how=write(left, self.lookup, self.attributes))

    def _axis(self, index: int, slot: Slot, actual: Dim | None) -> Dim | None:
        if slot.broadcast and (actual is None or actual.value in (None, 1)):
            return actual
        expected = evaluate(slot.text, self.lookup, self.attributes)
        if expected is not None and actual is not None:
            self._settle(
                index, f"axis {index}" if slot.label.isdecimal() else label(slot.label), expected, actual, slot.source
            )
        elif expected is None and slot.is_name:
            if slot.text in self.sizes:
                leave(None, actual)
            self.sizes[slot.text] = actual
        else:
            leave(expected, actual)
        return expected if actual is None else actual

    def _group(self, slot: Slot, index: int | None, shape: Shape) -> None:
        earlier = self.groups.setdefault(slot.text, shape)
        pairs = [(a, b) for a, b in zip(earlier, shape, strict=False) if a is not None and b is not None]
        if len(earlier) != len(shape) or any(self.differs(a, b) for a, b in pairs):
            self.mismatches.append(Mismatch(index, f"*{slot.text}", product(earlier), product(shape), slot.source))
            return
        for a, b in pairs:
            self._settle(index, f"*{slot.text}", a, b, slot.source)
        if len(pairs) < len(shape):
            leave(None, None)
        self.groups[slot.text] = [b if a is None else a for a, b in zip(earlier, shape, strict=True)]

    def _stretched(self, slot: Slot, index: int | None, shape: Shape) -> None:
        """``*#batch``: axes that broadcast with those of the same name."""
        earlier = [*self.stretched.get(slot.text, []), *filter(None, [self.groups.get(slot.text)])]
        pairs = [pair for other in earlier for pair in zip(reversed(other), reversed(shape), strict=False)]
        numbers = [(a.value, b.value) for a, b in pairs if a is not None and b is not None]
        for a, b in numbers:
            if a != b and not {1, None} & {a, b}:
                self.mismatches.append(Mismatch(index, f"*{slot.text}", str(a), str(b), slot.source))
                return
        self.stretched.setdefault(slot.text, []).append(shape)

    def _settle(self, index: int | None, name: str, expected: Dim, actual: Dim, source: str) -> None:
        expected, actual = expected.substitute(self.refined), actual.substitute(self.refined)
        if same(expected, actual):
            return
        if self.differs(expected, actual):
            self.mismatches.append(Mismatch(index, name, str(expected), str(actual), source))
        elif (solution := solve(expected, actual)) is not None:
            known = dict([solution])
            self.refined = {key: size.substitute(known) for key, size in self.refined.items()} | known
        else:
            self.open.append((actual, expected))


def product(shape: Shape) -> str:
    """A sample's sizes: ``28x28x1``; with spaces where they are not all numbers: ``height x width x 1``."""
    texts = list(map(written, shape))
    return ("x" if all(text.isdecimal() for text in texts) else " x ").join(texts) or "()"


def written(size: Dim | None) -> str:
    """A size in a message; ``_`` where it is not known."""
    return "_" if size is None else str(size)
