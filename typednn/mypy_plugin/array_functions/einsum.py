"""``einsum``: a product of arrays, written with a letter for each axis."""

from __future__ import annotations

import re

from typednn.mypy_plugin.array_functions import dtypes
from typednn.mypy_plugin.array_functions.rows import (
    ONE,
    Misfit,
    Operands,
    Row,
    Shape,
    broadcast,
    certain,
    into,
    kind_of,
    made,
    shape_of,
    written,
)
from typednn.mypy_plugin.values import UNKNOWN, Constant, Pack, Value
from typednn.shapes import Dim


def _einsum(o: Operands) -> Value:
    operands, subscripts = o["operands"], o["subscripts"]
    text = subscripts.value if isinstance(subscripts, Constant) else None
    if not isinstance(operands, Pack) or not isinstance(text, str):
        return UNKNOWN
    kind = dtypes.promoted(*map(kind_of, operands.items))
    inputs, arrow, output = text.replace(" ", "").partition("->")
    terms, what = inputs.split(","), f'einsum "{text}":'
    if not re.fullmatch(r"[A-Za-z.,]*", inputs) or not re.fullmatch(r"[A-Za-z.]*", output):
        raise Misfit(f"{what} letters, commas, dots and one -> stand in it")
    if len(terms) != len(operands.items):
        raise Misfit(f"{what} {len(terms)} terms, got {len(operands.items)} arrays")
    sizes: dict[str, Dim | None] = {}
    dots = [_bound(o, what, term, operand, sizes) for term, operand in zip(terms, operands.items, strict=True)]
    letters = "".join(terms).replace(".", "")
    if not arrow:
        alone = sorted(each for each in set(letters) if letters.count(each) == 1)
        output = "..." * ("..." in inputs) + "".join(alone)
    before, has_dots, after = output.partition("...")
    for letter in before + after:
        if letter not in letters:
            raise Misfit(f"{what} {letter} stands in the output alone")
        if (before + after).count(letter) > 1:
            raise Misfit(f"{what} {letter} stands twice in the output")
    known = [made(shape) for shape in dots if shape is not None]
    middle = broadcast(known, o.differ) if len(known) == len(dots) else None
    if middle and not has_dots:
        raise Misfit(f"{what} the output lacks the axes of ...")
    inside = certain(middle, kind) if has_dots else []
    return into(o, [*map(sizes.__getitem__, before), *inside, *map(sizes.__getitem__, after)], kind, stretched=True)


def _bound(o: Operands, what: str, term: str, operand: Value, sizes: dict[str, Dim | None]) -> Shape | None:
    """The axes behind the dots of a term, of which there may be none; the sizes of its letters go into ``sizes``."""
    shape = shape_of(operand, o.differ)
    before, has_dots, after = term.partition("...")
    named = before + after
    if shape is None:
        sizes.update({letter: sizes.get(letter) for letter in named})
        return None if has_dots else []
    if len(shape) < len(named) or (len(shape) > len(named) and not has_dots):
        raise Misfit(f"{what} {term} names {len(named)} axes, {written(shape)} has {len(shape)}", operand)
    end = len(shape) - len(after)
    own: dict[str, Dim | None] = {}
    for letter, size in zip(named, [*shape[: len(before)], *shape[end:]], strict=True):
        axis = shape.index(size)
        if letter in own:
            o.meet(own[letter], size, f"{what} {letter} is {own[letter]} and {size}", operand, axis)
        own[letter] = size
        earlier = sizes.get(letter)
        if earlier is not None and size is not None and (earlier == ONE) != (size == ONE):
            other = size if earlier == ONE else earlier  # NumPy stretches an axis of one element; a symbol may be one
            sizes[letter] = other if other.value is not None else None
        else:
            sizes[letter] = o.meet(earlier, size, f"{what} {letter} is {earlier} and {size}", operand, axis)
    return shape[len(before) : end]


_PARAMETERS = "subscripts, *operands, out=None, dtype=None, order='K', casting='safe', optimize=False"
TABLE: dict[str, Row] = {"numpy.einsum": Row(_PARAMETERS, _einsum)}
