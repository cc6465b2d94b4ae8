"""Grouping: which instructions of a program become one kernel, and what that kernel computes.

Values that are *stored* are arrays: leaves, results, what a product or a custom function reads and gives, and
reductions that more than one kernel needs. Everything between them is computed where it is read. So a kernel is a list
of stored values over one space of axes:

=========  =============================================  ==============================================================
kind       space                                          what is stored
=========  =============================================  ==============================================================
flat       axes of the result                             each number from the numbers at its place
rows    rows, then one axis of columns    results of all axes, or of rows; reductions over the columns in between
columns    leading axes, the axis that is reduced, last   reductions over leading or middle axes
=========  =============================================  ==============================================================

EXPAND, PERMUTE, PAD, and RESHAPE where it only adds or takes axes of size 1, are index arithmetic. Another RESHAPE is a
view of a stored array. Axes of size 1 go, and neighbours that every array has side by side are one. What is left names
no sizes and no constants: they are arguments of the kernel, so that other sizes and learning rates compile nothing. A
kernel has `MOST_WORK` at most: of a larger one, the largest part is stored first.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, NamedTuple, TypeAlias

from typednn.arrays import is_floating
from typednn.graph.graph import Shape, number_of
from typednn.graph.kinds import DTYPES, Kind
from typednn.graph.operations import POWERS, Binary, Reduce, Unary
from typednn.graph.program import PRODUCT, Instruction, Program

Node: TypeAlias = tuple[Any, ...]
# an axis of the space or NO_AXIS, what is added to it, and a bound if it may lie outside
Coordinate: TypeAlias = tuple[int, int, int]
Coordinates: TypeAlias = tuple[Coordinate, ...]
Make: TypeAlias = Callable[[list[int]], int]  # a node's number, from those of its operands

NO_AXIS: Final = -1
UNBOUNDED: Final = -1
_HERE: Final[Coordinate] = (NO_AXIS, 0, UNBOUNDED)
_MOST_OUTPUTS: Final = 8
_MOST_INPUTS: Final = 24
# values that the search for rows visits at most; what needs more is cut into several kernels anyway
_MOST_PLACES: Final = 2048
# of one kernel, as `work` counts it: the compiler takes seconds for that, and minutes for ten times as much
MOST_WORK: Final = 256
LONG: Final = 1 << 16  # columns from which a row is reduced by several threads, where there are few rows
_FEW_ROWS: Final = 8

_NAMES: Final = tuple(dtype.name for dtype in DTYPES)
_VIEWS: Final = frozenset({Kind.EXPAND, Kind.PERMUTE, Kind.RESHAPE})
# Functions that are many operations each, and how many.
COSTLY: Final = frozenset(each for each in Unary if each.row.weight > 1)
_COST: Final = 4


class Description(NamedTuple):
    """What a kernel computes, without sizes and constants. Equal descriptions are one kernel.

    ``arrays``: of each input its dtype and the names of its sizes. ``scalars``: the dtypes of the numbers, the extents
    of the space first. ``nodes``, operands first: ``("read", input, coordinates)``, ``("number", dtype, scalar)``,
    ``("true",)`` and ``("false",)``, ``("inside", tests, of)`` which is 0 where a coordinate is outside, ``("unary",
    operation, dtype, of)``, ``("binary", operation, dtype, of, and)``, ``("power", exponent, dtype, of)``, ``("cast",
    dtype, of)`` and ``("reduce", operation, dtype, of)``. In coordinates and tests, numbers other than axes are places
    of scalars. ``outputs``: nodes, with their dtypes and the names of their sizes. ``is_long``: few rows of many
    columns.
    """

    kind: str
    rank: int
    arrays: tuple[tuple[str, tuple[str, ...]], ...]
    scalars: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[tuple[int, str, tuple[str, ...]], ...]
    is_long: bool


class Group(NamedTuple):
    """Instructions that one kernel computes: it reads and gives stored values, in the shapes that the kernel sees them
    in.
    """

    description: Description
    inputs: tuple[tuple[int, Shape], ...]
    scalars: tuple[float, ...]
    outputs: tuple[tuple[int, Shape], ...]


class Alone(NamedTuple):
    """An instruction that is computed by itself."""

    place: int


Step: TypeAlias = Group | Alone


class _ApartError(Exception):
    """These values can't be computed by one kernel. ``stored``: what has to be stored first; ``alone``: what no kernel
    can compute.
    """

    def __init__(self, *stored: int, alone: Iterable[int] = ()) -> None:
        super().__init__()
        self.stored, self.alone = stored, tuple(alone)


class _TooMuchError(_ApartError):
    """It is too much for one kernel: its largest part has to be stored first."""


def grouped(program: Program) -> list[Step]:
    """The steps that compute ``program``, in their order. Reductions over separated axes must have been split: see
    `split_reductions`.
    """
    stored, alone = _cut(program, _stored_anyway(program)), frozenset[int]()
    while True:
        try:
            return _ordered(program, _Grouping(program, stored, alone).groups(), stored)
        except _ApartError as needed:
            alone = alone.union(needed.alone)
            inputs = [given for place in needed.alone for given in program.instructions[place].inputs]
            stored = _with_views(program, stored.union(needed.stored, needed.alone, inputs))


def split_reductions(program: Program) -> Program:
    """A reduction over axes that are not neighbours becomes two, the last axes first."""
    new: list[Instruction] = []
    places: list[int] = []
    for each in program.instructions:
        each = each._replace(inputs=tuple(places[given] for given in each.inputs))
        while each.kind == Kind.REDUCE:
            shape = new[each.inputs[0]].shape
            axes: Shape = each.extra
            last = [axes[-1]]
            while last[0] > 0 and (last[0] - 1 in axes or shape[last[0] - 1] == 1):
                last.insert(0, last[0] - 1)
            rest = tuple(axis for axis in axes if axis < last[0])
            if all(shape[axis] == 1 for axis in rest):
                break
            last = [axis for axis in last if axis in axes]
            inner = tuple(size for axis, size in enumerate(shape) if axis not in last)
            new.append(each._replace(shape=inner, extra=tuple(last)))
            each = each._replace(inputs=(len(new) - 1,), extra=rest)
        places.append(len(new))
        new.append(each)
    return Program(tuple(new), tuple(places[place] for place in program.outputs))


def compilable(each: Instruction, inputs: Sequence[Instruction]) -> bool:
    """Whether a kernel can compute ``each``. Integers are only read, compared and cast to floats."""
    dtype, given = DTYPES[each.dtype], [DTYPES[other.dtype] for other in inputs]
    if not all(
        other.kind == "b" or ((is_floating(other) or other.kind == "i") and other.itemsize >= 4)
        for other in (dtype, *given)
    ):
        return False
    if each.kind in (Kind.EXPAND, Kind.PERMUTE, Kind.RESHAPE, Kind.PAD):
        return True
    is_float = is_floating(dtype)
    if not is_float and dtype.kind != "b":
        return False
    floats = all(other.kind != "i" for other in given)
    if each.kind == Kind.BINARY:
        row = Binary(each.operation).row
        return row.halide is not None and (floats or row.takes == "any")
    if each.kind == Kind.UNARY:
        one = Unary(each.operation).row
        return dtype.itemsize <= one.most_bytes and floats and (is_float or one.takes == "whole")
    if each.kind == Kind.REDUCE:
        return is_float and math.prod(inputs[0].shape) > 0
    return each.kind == Kind.CAST


def _only_ones(each: Instruction, given: Instruction) -> bool:
    """Whether a RESHAPE only adds or takes axes of size 1."""
    return [size for size in each.shape if size != 1] == [size for size in given.shape if size != 1]


def _stored_anyway(program: Program) -> frozenset[int]:
    """Leaves, results, and what instructions read or give that no kernel computes."""
    found = set(program.outputs)
    for place, each in enumerate(program.instructions):
        inputs = [program.instructions[given] for given in each.inputs]
        alone = not compilable(each, inputs) or (each.kind == Kind.RESHAPE and not _only_ones(each, inputs[0]))
        if each.kind == Kind.CONST:
            if DTYPES[each.dtype].kind in "iu" and abs(int(_value(each))) >= 2**31:
                found.add(place)
        elif alone:
            found.add(place)
            found.update(each.inputs)
    return _with_views(program, frozenset(found))


def _cut(program: Program, stored: frozenset[int]) -> frozenset[int]:
    """``stored``, and so many more values that none is computed from others by more than `MOST_WORK`, each counted
    once.

    A value that is read at several places is computed at each: what that makes too much, `_Lowered` finds.
    """
    found = set(stored)
    needs: list[int] = []  # of each instruction, what it is computed from by one kernel, as a mask
    costly = 0

    def seen(place: int) -> int:
        return 1 << place if place in found else needs[place]

    for place, each in enumerate(program.instructions):
        if each.kind == Kind.UNARY and each.operation in COSTLY:
            costly |= 1 << place
        inputs = [_base(program, given) for given in each.inputs]
        while True:
            mask = 0
            for given in inputs:
                mask |= seen(given)
            left = [given for given in inputs if given not in found]
            if not left or mask.bit_count() + (_COST - 1) * (mask & costly).bit_count() <= MOST_WORK:
                break
            found.add(max(left, key=lambda given: needs[given].bit_count()))
        needs.append(mask | (0 if each.kind in (Kind.CONST, *_VIEWS) else 1 << place))
    return stored if len(found) == len(stored) else _with_views(program, frozenset(found))


def _base(program: Program, place: int) -> int:
    """What a chain of views is of."""
    while program.instructions[place].kind in _VIEWS:
        (place,) = program.instructions[place].inputs
    return place


def _with_views(program: Program, stored: frozenset[int]) -> frozenset[int]:
    """``stored``, and what its views are of."""
    found = set(stored)
    for place in reversed(range(len(program.instructions))):
        if place in found and program.instructions[place].kind in _VIEWS:
            found.update(program.instructions[place].inputs)
    return frozenset(found)


def _is_read(program: Program, stored: frozenset[int], place: int) -> bool:
    """Whether kernels read ``place`` from memory: not constants, and not views, which are index arithmetic on what they
    are of.
    """
    each = program.instructions[place]
    if place not in stored or each.kind == Kind.LEAF:
        return place in stored
    if each.kind == Kind.CONST:
        return DTYPES[each.dtype].kind in "iu" and abs(int(_value(each))) >= 2**31
    if each.kind not in _VIEWS:
        return True
    given = program.instructions[each.inputs[0]]
    return not compilable(each, [given]) or (each.kind == Kind.RESHAPE and not _only_ones(each, given))


def _value(constant: Instruction) -> Any:
    """The number of a CONST."""
    low, high = constant.extra
    return number_of(low, high, DTYPES[constant.dtype])


def _squeezed(shape: Shape) -> Shape:
    return tuple(size for size in shape if size != 1)


def _kept_and_reduced(each: Instruction, given: Instruction) -> tuple[list[int], list[int]]:
    """The axes of what a REDUCE reads, but those of size 1: those that stay and those that go."""
    axes = [axis for axis, size in enumerate(given.shape) if size != 1]
    return [axis for axis in axes if axis not in each.extra], [axis for axis in axes if axis in each.extra]


class _Draft:
    """Stored values that may become one kernel: ``space`` of the sizes of axes, ``rows`` of them (or leading axes, of
    columns).
    """

    def __init__(self, kind: str, space: Shape, rows: int, reduced: int, roots: list[int]) -> None:
        self.kind, self.space, self.rows, self.reduced, self.roots = kind, space, rows, reduced, roots


def _is_long(draft: _Draft) -> bool:
    return math.prod(draft.space[: draft.rows]) < _FEW_ROWS and math.prod(draft.space[draft.rows :]) >= LONG


class _Grouping:
    def __init__(self, program: Program, stored: frozenset[int], alone: frozenset[int]) -> None:
        self.program = program
        self.stored = stored
        self.roots = [
            place
            for place in sorted(stored)
            if place not in alone
            and program.instructions[place].kind not in (Kind.LEAF, Kind.CONST, *_VIEWS)
            and _is_root(program, place)
        ]
        self.bits = _ancestors(program)

    def groups(self) -> list[_Lowered]:
        """All kernels."""
        drafts: list[tuple[_Draft, _Lowered]] = []
        parts: set[int] = set()
        for root in self.roots:
            draft = self._draft(root)
            try:
                own = _Lowered(self.program, self.stored, draft)
                own.group()
                drafts.append((draft, own))
            except _TooMuchError as error:
                parts.update(error.stored)
        if parts:
            raise _ApartError(*parts)
        merged: list[tuple[_Draft, _Lowered]] = []
        for draft, own in drafts:
            for number in reversed(range(len(merged))):
                both = self._together(merged[number][0], draft)
                others = [each.roots for place, (each, _) in enumerate(merged) if place != number]
                if both is not None and self._have_an_order([both.roots, *others]):
                    try:
                        lowered = _Lowered(self.program, self.stored, both)
                        lowered.group()
                        merged[number] = both, lowered
                        break
                    except _ApartError:
                        pass
            else:
                merged.append((draft, own))
        self._store_what_several_reduce([lowered for _, lowered in merged])
        return [lowered for _, lowered in merged]

    def _store_what_several_reduce(self, groups: list[_Lowered]) -> None:
        seen: set[int] = set()
        again: set[int] = set()
        for group in groups:
            slow = {place for place in group.visited if place not in self.stored and self._is_slow(place)}
            again |= slow & seen
            seen |= slow
        if again:
            raise _ApartError(*again)

    def _is_slow(self, place: int) -> bool:
        each = self.program.instructions[place]
        if each.kind == Kind.REDUCE:
            return True
        return (each.kind == Kind.UNARY and Unary(each.operation).row.is_slow) or (
            each.kind == Kind.BINARY
            and each.operation == Binary.POWER
            and self.program.instructions[each.inputs[1]].kind not in (Kind.CONST, Kind.EXPAND)
        )

    def _draft(self, root: int) -> _Draft:
        """The space of one stored value."""
        each = self.program.instructions[root]
        if each.kind == Kind.REDUCE:
            given = self.program.instructions[each.inputs[0]]
            kept, reduced = _kept_and_reduced(each, given)
            if reduced and kept and kept[-1] > reduced[0]:
                leading = [axis for axis in kept if axis < reduced[0]]
                return _Draft("columns", _squeezed(given.shape), len(leading), len(reduced), [root])
        found = _Rows(self.program, self.stored, root)
        if found.columns is None:
            return _Draft("flat", _squeezed(each.shape), 0, 0, [root])
        shape = _squeezed(each.shape)
        rows = found.rows
        return _Draft("rows", (*shape[:rows], *found.columns), rows, len(found.columns), [root])

    def _together(self, one: _Draft, other: _Draft) -> _Draft | None:
        """Both in one kernel, if spaces agree and nothing outside lies between them."""
        kinds = {one.kind, other.kind}
        if one.space != other.space or ("columns" in kinds and len(kinds) > 1):
            return None
        better = one if one.kind != "flat" else other
        if one.kind == other.kind and (one.rows, one.reduced) != (other.rows, other.reduced):
            return None
        roots = one.roots + other.roots
        if better.kind == "rows" and "flat" in kinds and _is_long(better):
            return None
        if len(roots) > _MOST_OUTPUTS or self._lies_between(roots):
            return None
        if better.kind == "columns" and self._need_each_other(roots):
            return None
        return _Draft(better.kind, better.space, better.rows, better.reduced, roots)

    def _have_an_order(self, groups: list[list[int]]) -> bool:
        """Whether no group needs another one that needs it."""
        masks = [sum(1 << root for root in roots) for roots in groups]
        above: list[int] = []
        for roots in groups:
            above.append(0)
            for root in roots:
                above[-1] |= self.bits[root]
        left = list(range(len(groups)))
        while left:
            waiting = [one for one in left if any(above[one] & masks[other] for other in left if other != one)]
            if len(waiting) == len(left):
                return False
            left = waiting
        return True

    def _need_each_other(self, roots: list[int]) -> bool:
        """Whether one is computed from another. A sum over rows is known after the last row, so a kernel that reads it
        comes later.
        """
        return any(self.bits[root] >> other & 1 for root in roots for other in roots)

    def _lies_between(self, roots: list[int]) -> bool:
        mask, above = 0, 0
        for root in roots:
            mask |= 1 << root
            above |= self.bits[root]
        outside = above & ~mask
        while outside:
            place = outside.bit_length() - 1
            outside &= ~(1 << place)
            if place in self.stored and self.bits[place] & mask:
                return True
        return False


def _is_root(program: Program, place: int) -> bool:
    each = program.instructions[place]
    return compilable(each, [program.instructions[given] for given in each.inputs])


def _ancestors(program: Program) -> list[int]:
    """Of each instruction, those that it is computed from, as a mask."""
    found: list[int] = []
    for each in program.instructions:
        mask = 0
        for given in each.inputs:
            mask |= found[given] | 1 << given
        found.append(mask)
    return found


def _identity(shape: Shape, first: int = 0) -> Coordinates:
    """The coordinates of an array whose axes, but those of size 1, are those of the space from ``first`` on."""
    coordinates: list[Coordinate] = []
    for size in shape:
        if size == 1:
            coordinates.append(_HERE)
        else:
            coordinates.append((first, 0, UNBOUNDED))
            first += 1
    return tuple(coordinates)


def _through(each: Instruction, given: Instruction, at: Coordinates) -> tuple[Coordinates, list[Coordinate]]:
    """Where a movement reads its input, and the coordinates that may lie outside, with their sizes as bounds."""
    if each.kind == Kind.EXPAND:
        return tuple(_HERE if size == 1 else place for size, place in zip(given.shape, at, strict=True)), []
    if each.kind == Kind.PERMUTE:
        moved: list[Coordinate] = [_HERE] * len(at)
        for axis, place in zip(each.extra, at, strict=True):
            moved[axis] = place
        return tuple(moved), []
    if each.kind == Kind.RESHAPE:
        rest = [place for size, place in zip(each.shape, at, strict=True) if size != 1]
        return tuple(_HERE if size == 1 else rest.pop(0) for size in given.shape), []
    places: list[Coordinate] = []
    tests: list[Coordinate] = []
    for (before, after), size, (axis, offset, bound) in zip(each.extra, given.shape, at, strict=True):
        shifted = offset - before
        if before > 0 or after > 0:
            tests.append((axis, shifted, size))
            places.append(_HERE if size == 1 else (axis, shifted, size))
        elif size == 1:
            places.append(_HERE)
        else:
            places.append((axis, shifted, size if bound != UNBOUNDED else UNBOUNDED))
    return tuple(places), tests


class _Rows:
    """Whether a stored value is computed by rows: the number of ``rows``, and the sizes of ``columns``; None where
    nothing is reduced.
    """

    def __init__(self, program: Program, stored: frozenset[int], root: int) -> None:
        self.program, self.stored, self.root = program, stored, root
        self.columns: Shape | None = None
        self.rows = 0
        self.shape = _squeezed(program.instructions[root].shape)
        self._seen: set[tuple[int, Coordinates]] = set()
        self._walk(root, _identity(program.instructions[root].shape))

    def _walk(self, place: int, at: Coordinates) -> None:
        waiting = [(place, at)]
        while waiting and len(self._seen) < _MOST_PLACES:
            place, at = waiting.pop()
            each = self.program.instructions[place]
            read = place != self.root and _is_read(self.program, self.stored, place)
            if (place, at) in self._seen or read or each.kind in (Kind.CONST, Kind.LEAF):
                continue
            self._seen.add((place, at))
            if each.kind in (Kind.EXPAND, Kind.PERMUTE, Kind.RESHAPE, Kind.PAD):
                waiting.append((each.inputs[0], _through(each, self.program.instructions[each.inputs[0]], at)[0]))
            elif each.kind != Kind.REDUCE:
                waiting += [(given, at) for given in each.inputs]
            else:
                waiting.append((each.inputs[0], self._reduced(place, each, at)))

    def _reduced(self, place: int, each: Instruction, at: Coordinates) -> Coordinates:
        given = self.program.instructions[each.inputs[0]]
        kept, reduced = _kept_and_reduced(each, given)
        sizes = tuple(given.shape[axis] for axis in reduced)
        axes = [axis for axis, _, _ in at if axis != NO_AXIS]
        rows = len(kept)
        if reduced:
            fits = at == _identity(each.shape) and axes == list(range(rows)) and (not kept or kept[-1] < reduced[0])
            full = self.shape[rows:] or sizes
            if (
                not fits
                or rows > len(self.shape)
                or full != sizes
                or (self.columns is not None and (self.rows, self.columns) != (rows, sizes))
            ):
                # A row of many numbers that one thread would reduce is reduced first.
                raise _ApartError(place)
            if self.shape[rows:] and math.prod(self.shape[:rows]) < _FEW_ROWS and math.prod(sizes) >= LONG:
                raise _ApartError(place)
            self.rows, self.columns = rows, sizes
        return _unreduced(each, given, at, rows)


def _unreduced(each: Instruction, given: Instruction, at: Coordinates, first: int) -> Coordinates:
    """The coordinates of what a REDUCE reads: the axes that it reduces are those of the space from ``first`` on."""
    rest, coordinates = list(at), list[Coordinate]()
    for axis, size in enumerate(given.shape):
        if axis not in each.extra:
            coordinates.append(rest.pop(0))
        elif size == 1:
            coordinates.append(_HERE)
        else:
            coordinates.append((first, 0, UNBOUNDED))
            first += 1
    return tuple(coordinates)


class _Lowered:
    """The nodes of a draft."""

    def __init__(self, program: Program, stored: frozenset[int], draft: _Draft) -> None:
        self.program, self.stored, self.draft = program, stored, draft
        self.nodes: list[Node] = []
        self.inputs: dict[int, int] = {}
        # with each coordinate the size of the axis that it reads
        self.reads: list[tuple[int, list[tuple[Coordinate, int]]]] = []
        self.visited: set[int] = set()
        self._made: Group | None = None
        self._known: dict[Any, int] = {}
        self._work = 0
        # of the values that are complete and not stored, the work of the largest one, and its place
        self._largest = 0, NO_AXIS
        self.outputs = [self._node(root, self._at(root), root) for root in draft.roots]
        if len(self.inputs) > _MOST_INPUTS and len(draft.roots) > 1:
            raise _ApartError

    def _shape(self, place: int) -> Shape:
        return self.program.instructions[place].shape

    def _at(self, root: int) -> Coordinates:
        shape = self.program.instructions[root].shape
        if self.draft.kind == "columns":
            rows, reduced = self.draft.rows, self.draft.reduced
            axes = [*range(rows), *range(rows + reduced, len(self.draft.space))]
            return tuple(_HERE if size == 1 else (axes.pop(0), 0, UNBOUNDED) for size in shape)
        return _identity(shape)

    def _add(self, node: Node) -> int:
        number = self._known.get(node)
        if number is None:
            number = self._known[node] = len(self.nodes)
            self.nodes.append(node)
            self._work += work(node)
        return number

    def _node(self, place: int, at: Coordinates, root: int) -> int:
        """The node for the value of ``place`` at these coordinates. Depth first, without recursion:
        chains may be long.
        """
        waiting: list[tuple[int, Coordinates, int]] = [(place, at, NO_AXIS)]
        known = self._known
        while waiting:
            here, where, began = waiting.pop()
            if ("at", here, where) in known:
                continue
            needed, make = self._parts(here, where, here == root)
            missing = [each for each in needed if ("at", *each) not in known]
            if missing and began < 0:
                waiting.append((here, where, self._work))
                waiting += [(*each, NO_AXIS) for each in reversed(missing)]
                continue
            known["at", here, where] = make([known["at", *each] for each in needed])
            if began >= 0 and here not in self.stored and self.program.instructions[here].kind not in _VIEWS:
                self._largest = max(self._largest, (self._work - began, here))
            if self._work > MOST_WORK and self._largest[0] > 0:
                raise _TooMuchError(self._largest[1])
        return known["at", place, at]

    def _parts(self, place: int, at: Coordinates, is_root: bool) -> tuple[list[tuple[int, Coordinates]], Make]:
        """What a value needs, and the function that makes its node of their nodes."""
        instructions = self.program.instructions
        each = instructions[place]
        dtype = _NAMES[each.dtype]
        if not is_root and _is_read(self.program, self.stored, place):
            if place in self.draft.roots:
                if at != self._at(place):
                    raise _ApartError
                return [], lambda _: self._earlier(place, at)
            return [], lambda _: self._read(place, at)
        if each.kind == Kind.CONST:
            return [], lambda _: self._add(_number(each))
        self.visited.add(place)
        given = [instructions[other] for other in each.inputs]
        if each.kind in (Kind.EXPAND, Kind.PERMUTE, Kind.RESHAPE, Kind.PAD):
            moved, tests = _through(each, given[0], at)
            if tests:
                return [(each.inputs[0], moved)], lambda of: self._add(("inside", tuple(tests), dtype, of[0]))
            return [(each.inputs[0], moved)], lambda of: of[0]
        if each.kind == Kind.REDUCE:
            _, reduced = _kept_and_reduced(each, given[0])
            if not reduced:
                return [(each.inputs[0], _unreduced(each, given[0], at, 0))], lambda of: of[0]
            if self.draft.kind == "flat" or (self.draft.kind == "columns" and not is_root):
                raise _ApartError(place)
            below = _unreduced(each, given[0], at, self.draft.rows)
            return [(each.inputs[0], below)], lambda of: self._add(("reduce", each.operation, dtype, of[0]))
        needed = [(other, at) for other in each.inputs]
        if each.kind == Kind.CAST:
            return needed, lambda of: self._add(("cast", dtype, of[0]))
        if each.kind == Kind.UNARY:
            return needed, lambda of: self._add(("unary", each.operation, dtype, of[0]))
        if each.operation == Binary.POWER:
            exponent = given[1]
            while exponent.kind == Kind.EXPAND:
                exponent = instructions[exponent.inputs[0]]
            if exponent.kind == Kind.CONST:
                value = float(_value(exponent))
                if value in POWERS:
                    return needed[:1], lambda of: self._add(("power", value, dtype, of[0]))
        return needed, lambda of: self._add(("binary", each.operation, dtype, *of))

    def _earlier(self, place: int, at: Coordinates) -> int:
        """The node of another result of this kernel."""
        return self._node(place, at, place)

    def _read(self, place: int, at: Coordinates) -> int:
        shape = self.program.instructions[place].shape
        number = self.inputs.setdefault(place, len(self.inputs))
        axes = [(coordinate, size) for coordinate, size in zip(at, shape, strict=True) if size != 1]
        self.reads.append((number, axes))
        return self._add(("read", number, tuple(coordinate for coordinate, _ in axes)))

    def group(self) -> Group:
        """`_group`, once."""
        if self._made is None:
            self._made = self._group()
        return self._made

    def _group(self) -> Group:
        """The kernel, with neighbouring axes made one, and sizes and constants made arguments."""
        draft = self.draft
        kind, rank = draft.kind, len(draft.space)
        parts = [0] * rank
        for axis in range(rank):
            parts[axis] = (
                0
                if kind == "flat"
                else int(axis >= draft.rows) + int(kind == "columns" and axis >= draft.rows + draft.reduced)
            )
        axes = self._collapsed(parts)
        last = [
            part for part in dict.fromkeys(parts) if sum(parts[group[0]] == part for group in axes) > 1 and part > 0
        ]
        # columns, the axes that are reduced, or those after them are not one axis: what is reduced has to be stored
        if last:
            reduced = [place for place in self.visited if self.program.instructions[place].kind == Kind.REDUCE]
            given = [self.program.instructions[place].inputs[0] for place in reduced]
            raise _ApartError(*given) if not self.stored.issuperset(given) else _ApartError(alone=reduced)
        new_axis = {axis: number for number, group in enumerate(axes) for axis in group}
        extents = [math.prod(draft.space[axis] for axis in group) for group in axes]
        # There is always a row, and always an axis.
        added = int((kind == "rows" and draft.rows == 0) or not extents)
        extents = [1] * added + extents
        new_axis = {axis: number + added for axis, number in new_axis.items()}
        first_of = {group[0] for group in axes}
        scalars: list[tuple[str, float]] = [("int32", extent) for extent in extents]

        seen: dict[tuple[str, str], int] = {}

        def scalar(dtype: str, value: float) -> int:
            if (dtype, repr(value)) not in seen:
                seen[dtype, repr(value)] = len(scalars)
                scalars.append((dtype, value))
            return seen[dtype, repr(value)]

        def coordinate(given: Coordinate) -> Coordinate | None:
            axis, offset, bound = given
            if axis != NO_AXIS and axis not in first_of:
                return None
            return (
                NO_AXIS if axis == NO_AXIS else new_axis[axis],
                NO_AXIS if offset == 0 and axis != NO_AXIS else scalar("int32", offset),
                UNBOUNDED if bound == UNBOUNDED else scalar("int32", bound),
            )

        def translated(node: Node) -> Node:
            if node[0] == "read":
                found: list[Coordinate | None] = [coordinate(given) for given in node[2]]
                return "read", node[1], tuple(each for each in found if each is not None)
            if node[0] == "inside":
                return "inside", tuple(coordinate(given) for given in node[1]), *node[2:]
            if node[0] == "number":
                return "number", node[1], scalar("int32" if node[1].startswith("int") else node[1], node[2])
            return node

        nodes = tuple(translated(node) for node in self.nodes)
        inputs, arrays = self._inputs(first_of, new_axis, extents)
        outputs = self._outputs(axes, parts, added, extents)
        is_long = kind == "rows" and _is_long(draft)
        description = Description(
            kind, len(extents), arrays, tuple(dtype for dtype, _ in scalars), nodes, tuple(outputs[1]), is_long
        )
        return Group(description, tuple(inputs), tuple(value for _, value in scalars), tuple(outputs[0]))

    def _collapsed(self, parts: list[int]) -> list[list[int]]:
        """Axes of the space, those together that are one: they are of one part, and each array has them
        side by side.
        """
        apart = {axis for axis in range(1, len(parts)) if parts[axis] != parts[axis - 1]}
        for node in self.nodes:
            if node[0] == "inside":
                apart |= {axis for axis, _, _ in node[1]} | {axis + 1 for axis, _, _ in node[1]}
        for _, read in self.reads:
            pure = [
                axis
                if offset == 0 and bound == UNBOUNDED and axis != NO_AXIS and size == self.draft.space[axis]
                else NO_AXIS
                for (axis, offset, bound), size in read
            ]
            named = [axis for (axis, _, _), _ in read]
            for axis in range(1, len(parts)):
                if axis in named or axis - 1 in named:
                    pairs = list(itertools.pairwise(pure))
                    alone = named.count(axis) == named.count(axis - 1) == pairs.count((axis - 1, axis))
                    if not alone:
                        apart.add(axis)
        groups: list[list[int]] = []
        for axis in range(len(parts)):
            if groups and axis not in apart:
                groups[-1].append(axis)
            else:
                groups.append([axis])
        first_of = {group[0] for group in groups}
        kept: dict[int, list[int]] = {}
        for number, read in self.reads:
            own = [position for position, ((axis, _, _), _) in enumerate(read) if axis == NO_AXIS or axis in first_of]
            if kept.setdefault(number, own) != own:  # an array has one shape for all that read it
                return [[axis] for axis in range(len(parts))]
        return groups

    def _inputs(
        self, first_of: set[int], new_axis: dict[int, int], extents: list[int]
    ) -> tuple[list[tuple[int, Shape]], tuple[tuple[str, tuple[str, ...]], ...]]:
        """Each input with the shape that the kernel sees, and its dtype with the names of its sizes."""
        inputs: list[tuple[int, Shape]] = []
        arrays: list[tuple[str, tuple[str, ...]]] = []
        for place, number in self.inputs.items():
            read = next(read for other, read in self.reads if other == number)
            kept = [position for position, ((axis, _, _), _) in enumerate(read) if axis == NO_AXIS or axis in first_of]
            sizes: list[int] = []
            names: list[str] = []
            for order, position in enumerate(kept):
                following = kept[order + 1] if order + 1 < len(kept) else len(read)
                size = math.prod(size for _, size in read[position:following])
                (axis, offset, bound), _ = read[position]
                whole = axis != NO_AXIS and offset == 0 and bound == UNBOUNDED and extents[new_axis[axis]] == size
                sizes.append(size)
                names.append(f"axis{new_axis[axis]}" if whole else f"input{number}_{order}")
            inputs.append((place, tuple(sizes)))
            arrays.append((DTYPES[self.program.instructions[place].dtype].name, tuple(names)))
        return inputs, tuple(arrays)

    def _outputs(self, axes: list[list[int]], parts: list[int], added: int, extents: list[int]) -> tuple[Any, Any]:
        shapes: list[tuple[int, Shape]] = []
        told: list[tuple[int, str, tuple[str, ...]]] = []
        # Results of all axes before those of rows, as the kernel's Funcs are.
        results = sorted(
            zip(self.draft.roots, self.outputs, strict=True), key=lambda pair: -len(_squeezed(self._shape(pair[0])))
        )
        for root, node in results:
            named = {axis for axis, _, _ in self._at(root)}
            own = [*range(added), *[number + added for number, group in enumerate(axes) if group[0] in named]]
            shapes.append((root, tuple(extents[axis] for axis in own)))
            told.append(
                (node, DTYPES[self.program.instructions[root].dtype].name, tuple(f"axis{axis}" for axis in own))
            )
        return shapes, told


def _number(each: Instruction) -> Node:
    dtype, value = DTYPES[each.dtype], _value(each)
    if dtype.kind == "b":
        return ("true",) if value else ("false",)
    return "number", dtype.name, value.item()


def _ordered(program: Program, groups: Iterable[_Lowered], stored: frozenset[int]) -> list[Step]:
    """Kernels and single instructions, each after what it reads."""
    of_root = {root: group for group in groups for root in group.draft.roots}
    steps: list[Step] = []
    done: set[int] = set()

    def needs(place: int) -> list[int]:
        group = of_root.get(place)
        if group is None:
            return [given for given in program.instructions[place].inputs if given not in done]
        return [given for given in group.inputs if given not in done]

    for wanted in sorted(stored):
        waiting = [wanted]
        while waiting:
            place = waiting[-1]
            if place in done:
                waiting.pop()
                continue
            missing = needs(place)
            if missing:
                waiting += missing
                continue
            waiting.pop()
            group = of_root.get(place)
            if group is None:
                done.add(place)
                if program.instructions[place].kind != Kind.LEAF:
                    steps.append(Alone(place))
            else:
                done.update(group.draft.roots)
                steps.append(group.group())
    return steps


def work(node: Node) -> int:
    """What a node costs the compiler, in additions. A number that may lie outside an array is read alone, not with its
    neighbours.
    """
    if node[0] == "read":
        return 12 if any(bound != UNBOUNDED for _, _, bound in node[2]) else 1
    return _COST if node[0] == "unary" and node[1] in COSTLY else 1


def operands(node: Any) -> list[int]:
    """The nodes that a node reads."""
    kind = node[0]
    if kind in ("read", "number", "true", "false"):
        return []
    return list(node[3:]) if kind != "cast" else [node[2]]


def described(group: Group) -> str:
    """A kernel as text, a node on each line."""
    how = group.description
    names: dict[str, Any] = {"unary": Unary, "binary": Binary, "reduce": Reduce}
    lines = [f"{how.kind} of {how.rank} axes, extents {group.scalars[: how.rank]}{', long' if how.is_long else ''}"]
    for number, node in enumerate(how.nodes):
        word = names[node[0]](node[1]).title if node[0] in names else " ".join(map(str, node[:2]))
        lines.append(f"  ${number} = {word} {' '.join(map(str, node[2:]))}")
    results = [
        f"${node} {dtype} {shape}" for (node, dtype, _), (_, shape) in zip(how.outputs, group.outputs, strict=True)
    ]
    return "\n".join([*lines, f"  results {' '.join(results)}"])


__all__ = [
    "Alone",
    "Description",
    "Group",
    "MOST_WORK",
    "PRODUCT",
    "Step",
    "compilable",
    "described",
    "grouped",
    "operands",
    "split_reductions",
    "work",
]
