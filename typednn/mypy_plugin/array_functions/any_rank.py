"""Arrays of any number of axes, ``"*batch features"``: what a function of NumPy does to each number of axes alike.

The row is applied once for each of some numbers of axes that ``*batch`` may stand for. What all of them give, with
``*batch`` in one place, holds of any number; what none of them accepts is wrong.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from typednn.mypy_plugin.array_functions import rows
from typednn.mypy_plugin.array_functions.rows import Differ, Misfit, Row, made
from typednn.mypy_plugin.values import UNKNOWN, Array, Pack, Value
from typednn.shapes import Dim, Flow, undecided

_RANKS = (1, 0, 2, 3, 4)  # 1 first: its messages have ``*batch`` itself as an axis
_FURTHER = (5, 6, 7, 8)  # asked before something is refused: an index may name that many axes


def apply(row: Row, arguments: Sequence[Value], keywords: Mapping[str, Value], differ: Differ) -> Value:
    """The result for these arguments; `Misfit` where NumPy raises."""
    stars = {star for value in (*arguments, *keywords.values()) for star in _stars(value)}
    if len(stars) != 1:
        return rows.apply(row, arguments, keywords, differ)
    (star,) = stars
    results: dict[int, Value] = {}
    refused: list[Misfit] = []

    def attempt(rank: int) -> None:
        axes = [star] if rank == 1 else [Dim.named(f"{star}{place}") for place in range(rank)]
        filled = [_filled(value, star, axes) for value in arguments]
        named = {name: _filled(value, star, axes) for name, value in keywords.items()}
        try:
            results[rank] = _gathered(rows.apply(row, filled, named, differ), star, axes)
        except Misfit as error:
            refused.append(error)

    attempt(_RANKS[0])
    with undecided():  # what is not decided was noted once
        for rank in _RANKS[1:]:
            attempt(rank)
        for rank in _FURTHER if not results else ():
            attempt(rank)
    if not results:
        raise refused[0]
    return _common(results, star)


def _common(results: Mapping[int, Value], star: Dim) -> Value:
    """What holds for any number of axes."""
    several = [result for rank, result in results.items() if rank]
    if len(several) > 1 and all(_same(each, several[0]) for each in several):
        found = several[0]
        if 0 not in results or _same(results[0], _without(found, star)):
            return found
    kinds = {each.kind if isinstance(each, Array) else "" for each in results.values()}
    return made(None, kinds.pop()) if len(kinds) == 1 else UNKNOWN


def _stars(value: Value) -> Iterator[Dim]:
    match value:
        case Array(open=shape):
            yield from (size for size in shape if str(size)[0] == "*")
        case Pack(items=items):
            for each in items:
                yield from _stars(each)
        case _:
            pass


def _filled(value: Value, star: Dim, axes: Sequence[Dim]) -> Value:
    """The value with so many axes in place of ``*batch``."""
    match value:
        case Array(open=shape) if shape:
            sizes = [each for size in shape for each in (axes if size == star else [size])]
            return Array(Flow.of(sizes), value.kind)
        case Pack(items=items):
            return replace(value, items=tuple(_filled(each, star, axes) for each in items))
        case _:
            return value


def _gathered(value: Value, star: Dim, axes: Sequence[Dim]) -> Value:
    """The value with ``*batch`` in place of these axes, where they are together; else unknown."""
    match value:
        case Array(flow=flow) if flow.shape is not None:
            names = {name for size in axes for name in size.names()}
            places = [place for place, size in enumerate(flow.shape) if size is not None and names & size.names()]
            if not places:
                return value
            start = places[0]
            if flow.shape[start : start + len(axes)] != list(axes) or len(places) != len(axes):
                return made(None, value.kind)
            sizes = [*flow.shape[:start], star, *flow.shape[start + len(axes) :]]
            known = tuple(size for size in sizes if size is not None)
            return Array(Flow.start(None), value.kind, known) if len(known) == len(sizes) else made(None, value.kind)
        case Pack(items=items):
            return replace(value, items=tuple(_gathered(each, star, axes) for each in items))
        case _:
            return value


def _without(value: Value, star: Dim) -> Value:
    """The value where ``*batch`` stands for no axis."""
    match value:
        case Array(open=shape) if shape:
            return made([size for size in shape if size != star], value.kind)
        case Pack(items=items):
            return replace(value, items=tuple(_without(each, star) for each in items))
        case _:
            return value


def _same(a: Value, b: Value) -> bool:
    match a, b:
        case Array(), Array():
            return a.kind == b.kind and a.open == b.open and a.flow.shape == b.flow.shape
        case Pack(), Pack():
            return len(a.items) == len(b.items) and all(map(_same, a.items, b.items)) and a.keys == b.keys
        case _:
            return a == b
