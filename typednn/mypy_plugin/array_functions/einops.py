"""``einops``: patterns such as ``"batch (height width) channels -> batch height width channels"``, of any library."""

from __future__ import annotations

import math
import re

from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Shape,
    Unclear,
    certain,
    gathered,
    kind_of,
    made,
    shape_of,
    share,
    total,
    written,
)
from typednn.mypy_plugin.values import Constant, Number, Pack, Value
from typednn.shapes import Dim

Side = list[list[str]]  # axes, each with the names that it is made of
_WORDS = re.compile(r"\.\.\.|[A-Za-z_]\w*|\d+|[()]")


def _side(text: str) -> Side:
    """One side of a pattern; `Unclear` where it is none."""
    words, axes, inside = _WORDS.findall(text), Side(), False
    if "".join(words) != "".join(text.split()):
        raise Unclear
    for word in words:
        if word in "()":
            if (word == "(") is inside:
                raise Unclear
            inside = word == "("
            axes += [[]] if inside else []
        elif inside:
            axes[-1].append(word)
        else:
            axes.append([word])
    return axes


def _pattern(o: Operands) -> tuple[Side, Side, str]:
    pattern = o["pattern"]
    text = pattern.value if isinstance(pattern, Constant) else None
    if not isinstance(text, str) or text.count("->") != 1:
        raise Unclear
    left, _, right = text.partition("->")
    return _side(left), _side(right), text


def _lengths(o: Operands) -> dict[str, Dim | None]:
    """The sizes that are given by name."""
    values = o["axes_lengths"]
    pairs = zip(values.keys, values.items, strict=True) if isinstance(values, Pack) else ()
    return {name: value.size if isinstance(value, Number) else None for name, value in pairs}


def _bound(o: Operands, side: Side, shape: Shape, text: str, sizes: dict[str, Dim | None]) -> Shape:
    """The axes behind the dots; the sizes of the names go into ``sizes``."""
    what = f'einops "{text}" of {written(shape)}:'
    dots = next((place for place, axis in enumerate(side) if axis == ["..."]), None)
    named = len(side) - (dots is not None)
    if len(shape) < named or (len(shape) > named and dots is None):
        raise Misfit(f"{what} the pattern names {named} axes, there are {len(shape)}", o["tensor"])
    middle: Shape = []
    if dots is not None:
        middle = shape[dots : len(shape) - named + dots]
        side = [*side[:dots], *side[dots + 1 :]]
        shape = [*shape[:dots], *shape[dots + len(middle) :]]
    for place, (axis, size) in enumerate(zip(side, shape, strict=True)):
        if "..." in axis:
            raise Unclear
        for name in axis:
            if name.isdecimal():
                sizes[name] = Dim.of(int(name))
        open_names = [name for name in axis if sizes.get(name) is None]
        known = math.prod((each for name in axis if (each := sizes.get(name)) is not None), start=ONE)
        if not open_names:
            o.meet(size, known, f"{what} {' '.join(axis) or 1} is {known}, axis {place} has {size}", o["tensor"], place)
        elif len(open_names) == 1 and open_names[0] not in sizes:
            if size is not None and None not in (size.value, known.value) and size.value % (known.value or 1):  # type: ignore[operator]
                raise Misfit(f"{what} axis {place} has {size} elements, no multiple of {known}", o["tensor"], place)
            sizes[open_names[0]] = share(size, known)
    return middle


def _composed(side: Side, sizes: dict[str, Dim | None], middle: Shape) -> Shape:
    result: Shape = []
    for axis in side:
        if axis == ["..."]:
            result += middle
            continue
        parts: Shape = []
        for name in axis:
            parts += middle if name == "..." else [Dim.of(int(name)) if name.isdecimal() else sizes.get(name)]
        result.append(total(parts))
    return result


def _names(side: Side) -> list[str]:
    return [name for axis in side for name in axis if not name.isdecimal()]


def _transformed(kind: str) -> Row:
    def rule(o: Operands) -> Value:
        left, right, text = _pattern(o)
        before, after = _names(left), _names(right)
        sizes = _lengths(o)
        if len(set(after)) < len(after) or len(set(before)) < len(before):
            raise Misfit(f'einops "{text}": a name stands twice on one side')
        new, gone = set(after) - set(before), set(before) - set(after)
        if kind != "repeat" and new:
            raise Misfit(f'einops "{text}": {", ".join(sorted(new))} stands on the right alone')
        if kind != "reduce" and gone:
            raise Misfit(f'einops "{text}": {", ".join(sorted(gone))} stands on the left alone')
        if new - sizes.keys() - {"..."}:
            raise Misfit(f'einops "{text}": give the size of {", ".join(sorted(new - sizes.keys()))}')
        value = o["tensor"]
        if isinstance(value, Pack):  # a list of arrays: their number comes first
            items, shapes = gathered(Operands({"tensor": value}, o.differ), "tensor")
            if not items or any(each != shapes[0] for each in shapes):
                raise Unclear
            shape: Shape = [Dim.of(len(items)), *shapes[0]]
        else:
            shape = certain(shape_of(value, o.differ))
        middle = _bound(o, left, shape, text, sizes)
        return made(_composed(right, sizes, middle), "" if kind == "reduce" else kind_of(value))

    reduction = ", reduction" if kind == "reduce" else ""
    return Row(f"tensor, pattern{reduction}, **axes_lengths", rule)


def _einsum(o: Operands) -> Value:
    """``einops.einsum(a, b, "i j, j k -> i k")``."""
    given = o["tensors_and_pattern"]
    *tensors, pattern = given.items if isinstance(given, Pack) and given.items else (Constant(None),)
    text = pattern.value if isinstance(pattern, Constant) else None
    if not isinstance(text, str) or text.count("->") != 1:
        raise Unclear
    left, _, right = text.partition("->")
    terms, sizes = left.split(","), dict[str, Dim | None]()
    if len(terms) != len(tensors):
        raise Misfit(f'einops.einsum "{text}": {len(terms)} terms, got {len(tensors)} arrays')
    for term, tensor in zip(terms, tensors, strict=True):
        shape = certain(shape_of(tensor, o.differ))
        names = term.split()
        if "..." in names or "..." in right or any("(" in name for name in names):
            raise Unclear
        if len(names) != len(shape):
            raise Misfit(
                f'einops.einsum "{text}": "{term.strip()}" names {len(names)} axes of {written(shape)}', tensor
            )
        for place, (name, size) in enumerate(zip(names, shape, strict=True)):
            if ONE in (size, sizes.get(name)):  # some libraries stretch an axis of one element
                sizes[name] = None if name in sizes and sizes[name] != size else size
                continue
            message = f'einops.einsum "{text}": {name} is {sizes.get(name)} and {size}'
            sizes[name] = o.meet(sizes.get(name), size, message, tensor, place)
    wanted = right.split()
    if any(name not in sizes for name in wanted):
        raise Misfit(f'einops.einsum "{text}": a name of the result stands in no term')
    return made([sizes[name] for name in wanted])


TABLE: dict[str, Row] = {
    **{f"einops.{kind}": _transformed(kind) for kind in ("rearrange", "reduce", "repeat")},
    "einops.einsum": Row("*tensors_and_pattern", _einsum),
}
