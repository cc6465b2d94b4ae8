"""Views: windows as index arithmetic on what they are of, so that a product reads them, or adds to them, without
storing them.

A chain of movements is a `View` if the place that it reads along each axis of its source is a sum of steps along the
axes of what it gives, once these are split: rows into images, and rows and columns of windows, for instance. A RESHAPE
is then quotients and remainders:

    (a·i + b·j) mod n = a·i + (b mod n)·j    where that stays below n, as it does for a window's places

A quotient that is no such sum may still go, where an EXPAND reads the same for each. So windows that are made by
repeating an axis, each time one place further (`typednn.graph.windows`), are seen as what they are, whatever their
stride, dilation and padding. A chain of movements and sums after a product is the same chain backwards: what the
product gives is added to the windows' places.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from typednn.graph.graph import Shape
from typednn.graph.kinds import DTYPES, MOVEMENTS, Kind
from typednn.graph.operations import Reduce
from typednn.graph.program import PRODUCT, Contraction, Instruction, Program

Split: TypeAlias = tuple[Shape, ...]  # of each axis, the sizes that it is split into

_LONGEST: Final = 64  # movements of a chain that are looked at


class View(NamedTuple):
    """An array along other axes: the ``zeros`` around it, then the place where it starts, and the steps along each
    axis.
    """

    zeros: tuple[tuple[int, int], ...]
    starts: Shape
    steps: tuple[Shape, ...]


class Windowed(NamedTuple):
    """How a PRODUCT reads its inputs and where it adds its result, over axes that are split as far as is needed.

    ``sizes``: those of each input, 1 where it is the same along the axis. ``views``: None for an input that is read as
    it is. ``into``: None where the result is what is asked for; else the view of that to which it is added.
    ``blocked``: the axes along which it is computed in pieces.
    """

    contraction: Contraction
    sizes: tuple[Shape, Shape]
    views: tuple[View | None, View | None]
    into: View | None
    blocked: Shape

    @property
    def name(self) -> str:
        """What texts of programs call it."""
        read = [str(place) for place, view in enumerate(self.views) if view is not None]
        return ", ".join([f"windows of {each}" for each in read] + ["added to windows"] * (self.into is not None))


def windows(program: Program) -> Program:
    """Products that read windows, or are added to them, as `Windowed`, where windows are more numbers than what they
    are of.
    """
    users: list[list[int]] = [[] for _ in program.instructions]
    for place, each in enumerate(program.instructions):
        for given in each.inputs:
            users[given].append(place)
    for place in program.outputs:
        users[place].append(-1)
    new = list(program.instructions)
    for place, each in enumerate(program.instructions):
        # Half precision would lose digits where blocks are added.
        if each.kind == PRODUCT and all(each.extra.shape) and DTYPES[each.dtype].itemsize >= 4:
            found = _windowed(program, users, place)
            if found is not None:
                end, new[end] = found[0], found[1]
    return Program(tuple(new), program.outputs)


def _windowed(program: Program, users: Sequence[Sequence[int]], place: int) -> tuple[int, Instruction] | None:
    """The product at ``place``, and which instruction it is in place of; None where there are no windows."""
    each = program.instructions[place]
    how: Contraction = each.extra
    kept = [axis for axis in range(len(how.shape)) if axis not in how.axes]
    split: Split = tuple((size,) for size in how.shape)
    chains: list[tuple[Chain, list[int]]] = []
    sources: list[int] = []
    read: list[bool] = []
    for given in each.inputs:
        axes = [axis for axis, size in enumerate(program.instructions[given].shape) if size > 1]
        for chain in _chains_before(program, given):
            found = split_for(chain, axes, split)
            if found is not None:
                split = found
                chains.append((chain, axes))
                sources.append(chain.place)
                read.append(True)
                break
        else:
            sources.append(given)
            read.append(False)
    end, into = place, False
    for chain in _chains_after(program, users, place):
        found = split_for(chain, kept, split)
        if found is not None and _is_spread(view_of(chain, kept, found), kept, found):
            split, end, into = found, chain.place, True
            chains.append((chain, kept))
            break
    if not chains:
        return None
    views: list[View | None] = [view_of(chain, axes, split) for chain, axes in chains]
    last = views.pop() if into else None
    of_inputs = [views.pop(0) if each else None for each in read]
    first = [sum(map(len, split[:axis])) for axis in range(len(split))]
    shapes = [program.instructions[given].shape for given in each.inputs]
    sizes = [
        tuple(part if size > 1 else 1 for size, parts in zip(shape, split, strict=True) for part in parts)
        for shape in shapes
    ]
    widest = max(chains, key=lambda chain: math.prod(how.shape[axis] for axis in chain[1]))[1]
    along = max(widest, key=how.shape.__getitem__)
    contraction = Contraction(
        tuple(part for parts in split for part in parts),
        tuple(first[axis] + number for axis in how.axes for number in range(len(split[axis]))),
    )
    blocked = tuple(range(first[along], first[along] + len(split[along])))
    extra = Windowed(contraction, (sizes[0], sizes[1]), (of_inputs[0], of_inputs[1]), last, blocked)
    return end, Instruction(PRODUCT, 0, each.dtype, program.instructions[end].shape, tuple(sources), extra)


def _is_spread(view: View, axes: Sequence[int], split: Split) -> bool:
    """Whether each part of these axes has a step: a sum along one that has none is a kernel's work."""
    first = [sum(map(len, split[:axis])) for axis in range(len(split))]
    return all(
        size == 1 or any(view.steps[first[axis] + number]) for axis in axes for number, size in enumerate(split[axis])
    )


# ------------------------------------------------------------------ chains of movements


class Chain(NamedTuple):
    """Movements, first one first, of a ``source``, which is the shape of the instruction at ``place``."""

    place: int
    source: Shape
    steps: tuple[Instruction, ...]


def _chains_before(program: Program, place: int) -> list[Chain]:
    """The movements that give ``place``, the longest chain first, of sources with fewer numbers than it has."""
    found: list[Chain] = []
    steps: tuple[Instruction, ...] = ()
    at, size = place, math.prod(program.instructions[place].shape)
    while program.instructions[at].kind in MOVEMENTS and len(steps) < _LONGEST:
        steps = (program.instructions[at], *steps)
        (at,) = program.instructions[at].inputs
        source = program.instructions[at].shape
        if 0 < math.prod(source) < size:
            found.append(Chain(at, source, steps))
    return found[::-1]


def _chains_after(program: Program, users: Sequence[Sequence[int]], place: int) -> list[Chain]:
    """The movements and sums that alone read ``place``, backwards, the longest chain first: of results with fewer
    numbers than it has.
    """
    found: list[Chain] = []
    steps: tuple[Instruction, ...] = ()
    at, size = place, math.prod(program.instructions[place].shape)
    while len(users[at]) == 1 and users[at][0] >= 0 and len(steps) < _LONGEST:
        before, at = program.instructions[at].shape, users[at][0]
        each = program.instructions[at]
        if each.kind == Kind.PAD:
            steps = (each._replace(shape=before, extra=tuple((-first, -last) for first, last in each.extra)), *steps)
        elif each.kind == Kind.PERMUTE:
            steps = (
                each._replace(shape=before, extra=tuple(sorted(range(len(before)), key=each.extra.__getitem__))),
                *steps,
            )
        elif each.kind == Kind.RESHAPE:
            steps = (each._replace(shape=before), *steps)
        elif each.kind == Kind.REDUCE and each.operation == Reduce.SUM:
            kept = tuple(1 if axis in each.extra else old for axis, old in enumerate(before))
            steps = (
                each._replace(kind=Kind.RESHAPE, shape=kept),
                each._replace(kind=Kind.EXPAND, shape=before),
                *steps,
            )
        else:
            break
        if 0 < math.prod(each.shape) < size and any(step.kind == Kind.EXPAND for step in steps):
            found.append(Chain(at, each.shape, steps))
    return found[::-1]


# ------------------------------------------------------------------ index arithmetic


class _NoViewError(Exception):
    """The places that a chain reads are no sums of steps."""


class _SplitError(Exception):
    """They would be, if an axis were split: ``part``, of all parts, into one of ``size`` and what is before it."""

    def __init__(self, part: int, size: int) -> None:
        super().__init__()
        self.part, self.size = part, size


@dataclass(frozen=True)
class _Place:
    """A place along an axis: ``start``, and a step along each part. ``may_be_outside``: there is 0 where the axis has
    no such place.
    """

    start: int
    steps: dict[int, int]
    may_be_outside: bool = False


def view_of(chain: Chain, axes: Sequence[int], split: Split) -> View:
    """How ``chain`` reads its source along the parts of the axes; those of its result that are no 1 are ``axes``."""
    parts = [part for each in split for part in each]
    first = [sum(map(len, split[:axis])) for axis in range(len(split))]
    shape = chain.steps[-1].shape
    mine = list(axes) if len(shape) == len(axes) else [axis if size > 1 else -1 for axis, size in enumerate(shape)]
    at: list[_Place | None] = []
    for axis in mine:
        steps, step = dict[int, int](), 1
        if axis >= 0:
            for part in reversed(range(first[axis], first[axis] + len(split[axis]))):
                steps[part] = step
                step *= parts[part]
        at.append(_Place(0, steps))
    for number, each in reversed([*enumerate(chain.steps)]):
        at = _before(each, chain.steps[number - 1].shape if number else chain.source, at, parts)
    places: list[_Place] = []
    for place in at:
        if place is None:
            raise _NoViewError
        places.append(place)
    ends = [size - 1 - _last(place, parts) for place, size in zip(places, chain.source, strict=True)]
    zeros = [(max(0, -place.start), max(0, -end)) for place, end in zip(places, ends, strict=True)]
    starts = [place.start + before for place, (before, _) in zip(places, zeros, strict=True)]
    steps_of = [tuple(place.steps.get(part, 0) for place in places) for part in range(len(parts))]
    return View(tuple(zeros), tuple(starts), tuple(steps_of))


def split_for(chain: Chain, axes: Sequence[int], split: Split) -> Split | None:
    """``split`` as far as `view_of` needs it; None where there is no view."""
    while True:
        try:
            view_of(chain, axes, split)
        except _NoViewError:
            return None
        except _SplitError as needed:
            number, new = needed.part, list[Shape]()
            for parts in split:
                if 0 <= number < len(parts):
                    parts = (*parts[:number], parts[number] // needed.size, needed.size, *parts[number + 1 :])
                    number = -1
                elif number >= 0:
                    number -= len(parts)
                new.append(parts)
            split = tuple(new)
        else:
            return split


def _last(place: _Place, parts: Sequence[int]) -> int:
    return place.start + sum(step * (parts[part] - 1) for part, step in place.steps.items())


def _before(each: Instruction, source: Shape, at: list[_Place | None], parts: Sequence[int]) -> list[_Place | None]:
    """Where a movement of ``source`` reads it."""
    if each.kind == Kind.PERMUTE:
        moved = list(at)
        for axis, place in zip(each.extra, at, strict=True):
            moved[axis] = place
        return moved
    if each.kind == Kind.EXPAND:
        return [place if size == new else _same(place) for place, size, new in zip(at, source, each.shape, strict=True)]
    if each.kind == Kind.PAD:
        return [_padded(place, zeros, size, parts) for place, zeros, size in zip(at, each.extra, source, strict=True)]
    found: list[_Place | None] = []
    for old, new in _together(source, each.shape):
        given = [at[axis] for axis in new]
        found += (
            given
            if [source[axis] for axis in old] == [each.shape[axis] for axis in new]
            else _reshaped([source[axis] for axis in old], [each.shape[axis] for axis in new], given, parts)
        )
    return found


def _same(place: _Place | None) -> _Place:
    """Place 0, whatever the place is."""
    if place is not None and place.may_be_outside:
        raise _NoViewError
    return _Place(0, {})


def _padded(place: _Place | None, zeros: tuple[int, int], size: int, parts: Sequence[int]) -> _Place | None:
    if zeros == (0, 0):
        return place
    if place is None or (place.may_be_outside and min(zeros) < 0):
        raise _NoViewError
    moved = replace(place, start=place.start - zeros[0])
    return replace(moved, may_be_outside=place.may_be_outside or moved.start < 0 or _last(moved, parts) >= size)


def _together(old: Shape, new: Shape) -> Iterator[tuple[list[int], list[int]]]:
    """Axes of both shapes that are each other, as few together as there can be."""
    first = second = 0
    while first < len(old) or second < len(new):
        one, other = [first] if first < len(old) else [], [second] if second < len(new) else []
        sizes = [math.prod(old[axis] for axis in one), math.prod(new[axis] for axis in other)]
        while sizes[0] != sizes[1]:
            if sizes[0] < sizes[1]:
                one.append(first + len(one))
                sizes[0] *= old[one[-1]]
            else:
                other.append(second + len(other))
                sizes[1] *= new[other[-1]]
        first, second = first + len(one), second + len(other)
        yield one, other


def _reshaped(
    old: Sequence[int], new: Sequence[int], given: Sequence[_Place | None], parts: Sequence[int]
) -> list[_Place | None]:
    """The places along axes of sizes ``old``, from those along axes of sizes ``new``: quotients and remainders."""
    start, steps, step = 0, dict[int, int](), 1
    for place, size in zip(reversed(given), reversed(new), strict=True):
        if size > 1:
            if place is None or place.may_be_outside:
                raise _NoViewError
            start += step * place.start
            for part, own in place.steps.items():
                steps[part] = steps.get(part, 0) + step * own
        elif place is not None and place.may_be_outside:
            raise _NoViewError
        step *= size
    rest: _Place | None = _Place(start, steps)
    found: list[_Place | None] = []
    left = math.prod(old)
    for size in reversed(old):
        left //= size
        if size == 1:
            found.append(_Place(0, {}))
        elif left == 1:
            found.append(rest)
        elif rest is None:
            raise _NoViewError
        else:
            rest, remainder = _divided(rest, size, parts)
            found.append(remainder)
    return found[::-1]


def _divided(place: _Place, size: int, parts: Sequence[int]) -> tuple[_Place | None, _Place]:
    """Quotient, None where it is no sum of steps, and remainder."""
    start, over = divmod(place.start, size)
    whole = {part: step // size for part, step in place.steps.items() if step % size == 0}
    rest = {part: step for part, step in place.steps.items() if step % size}
    remainder = _Place(over, rest)
    if _last(remainder, parts) < size:
        return _Place(start, whole), remainder
    for part, step in rest.items():
        if step * (parts[part] - 1) >= size and size % step == 0 and parts[part] % (size // step) == 0:
            raise _SplitError(part, size // step)
    remainder = _Place(over, {part: step % size for part, step in rest.items()})
    if _last(remainder, parts) < size:
        return None, remainder
    raise _NoViewError
