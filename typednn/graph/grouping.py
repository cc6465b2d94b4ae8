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

from collections.abc import Iterable
from typing import Final, NamedTuple, TypeAlias

from typednn.graph.coordinates import kept_and_reduced, squeezed
from typednn.graph.description import COST, COSTLY, MOST_WORK, Group
from typednn.graph.graph import Shape
from typednn.graph.kinds import DTYPES, Kind
from typednn.graph.lowering import (
    VIEWS,
    ApartError,
    Draft,
    Lowered,
    Rows,
    TooMuchError,
    compilable,
    is_long,
    only_ones,
    value_of,
)
from typednn.graph.operations import Binary, Unary
from typednn.graph.program import Instruction, Program

_MOST_OUTPUTS: Final = 8


class Alone(NamedTuple):
    """An instruction that is computed by itself."""

    place: int


Step: TypeAlias = Group | Alone


def grouped(program: Program) -> list[Step]:
    """The steps that compute ``program``, in their order. Reductions over separated axes must have been split: see
    `split_reductions`.
    """
    stored, alone = _cut(program, _stored_anyway(program)), frozenset[int]()
    while True:
        try:
            return _ordered(program, _Grouping(program, stored, alone).groups(), stored)
        except ApartError as needed:
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


def _stored_anyway(program: Program) -> frozenset[int]:
    """Leaves, results, and what instructions read or give that no kernel computes."""
    found = set(program.outputs)
    for place, each in enumerate(program.instructions):
        inputs = [program.instructions[given] for given in each.inputs]
        alone = not compilable(each, inputs) or (each.kind == Kind.RESHAPE and not only_ones(each, inputs[0]))
        if each.kind == Kind.CONST:
            if DTYPES[each.dtype].kind in "iu" and abs(int(value_of(each))) >= 2**31:
                found.add(place)
        elif alone:
            found.add(place)
            found.update(each.inputs)
    return _with_views(program, frozenset(found))


def _cut(program: Program, stored: frozenset[int]) -> frozenset[int]:
    """``stored``, and so many more values that none is computed from others by more than `MOST_WORK`, each counted
    once.

    A value that is read at several places is computed at each: what that makes too much, `Lowered` finds.
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
            if not left or mask.bit_count() + (COST - 1) * (mask & costly).bit_count() <= MOST_WORK:
                break
            found.add(max(left, key=lambda given: needs[given].bit_count()))
        needs.append(mask | (0 if each.kind in (Kind.CONST, *VIEWS) else 1 << place))
    return stored if len(found) == len(stored) else _with_views(program, frozenset(found))


def _base(program: Program, place: int) -> int:
    """What a chain of views is of."""
    while program.instructions[place].kind in VIEWS:
        (place,) = program.instructions[place].inputs
    return place


def _with_views(program: Program, stored: frozenset[int]) -> frozenset[int]:
    """``stored``, and what its views are of."""
    found = set(stored)
    for place in reversed(range(len(program.instructions))):
        if place in found and program.instructions[place].kind in VIEWS:
            found.update(program.instructions[place].inputs)
    return frozenset(found)


class _Grouping:
    def __init__(self, program: Program, stored: frozenset[int], alone: frozenset[int]) -> None:
        self.program = program
        self.stored = stored
        self.roots = [
            place
            for place in sorted(stored)
            if place not in alone
            and program.instructions[place].kind not in (Kind.LEAF, Kind.CONST, *VIEWS)
            and _is_root(program, place)
        ]
        self.bits = _ancestors(program)

    def groups(self) -> list[Lowered]:
        """All kernels."""
        drafts: list[tuple[Draft, Lowered]] = []
        parts: set[int] = set()
        for root in self.roots:
            draft = self._draft(root)
            try:
                own = Lowered(self.program, self.stored, draft)
                own.group()
                drafts.append((draft, own))
            except TooMuchError as error:
                parts.update(error.stored)
        if parts:
            raise ApartError(*parts)
        merged: list[tuple[Draft, Lowered]] = []
        for draft, own in drafts:
            for number in reversed(range(len(merged))):
                both = self._together(merged[number][0], draft)
                others = [each.roots for place, (each, _) in enumerate(merged) if place != number]
                if both is not None and self._have_an_order([both.roots, *others]):
                    try:
                        lowered = Lowered(self.program, self.stored, both)
                        lowered.group()
                        merged[number] = both, lowered
                        break
                    except ApartError:
                        pass
            else:
                merged.append((draft, own))
        self._store_what_several_reduce([lowered for _, lowered in merged])
        return [lowered for _, lowered in merged]

    def _store_what_several_reduce(self, groups: list[Lowered]) -> None:
        seen: set[int] = set()
        again: set[int] = set()
        for group in groups:
            slow = {place for place in group.visited if place not in self.stored and self._is_slow(place)}
            again |= slow & seen
            seen |= slow
        if again:
            raise ApartError(*again)

    def _is_slow(self, place: int) -> bool:
        each = self.program.instructions[place]
        if each.kind == Kind.REDUCE:
            return True
        return (each.kind == Kind.UNARY and Unary(each.operation).row.is_slow) or (
            each.kind == Kind.BINARY
            and each.operation == Binary.POWER
            and self.program.instructions[each.inputs[1]].kind not in (Kind.CONST, Kind.EXPAND)
        )

    def _draft(self, root: int) -> Draft:
        """The space of one stored value."""
        each = self.program.instructions[root]
        if each.kind == Kind.REDUCE:
            given = self.program.instructions[each.inputs[0]]
            kept, reduced = kept_and_reduced(each, given)
            if reduced and kept and kept[-1] > reduced[0]:
                leading = [axis for axis in kept if axis < reduced[0]]
                return Draft("columns", squeezed(given.shape), len(leading), len(reduced), [root])
        found = Rows(self.program, self.stored, root)
        if found.columns is None:
            return Draft("flat", squeezed(each.shape), 0, 0, [root])
        shape = squeezed(each.shape)
        rows = found.rows
        return Draft("rows", (*shape[:rows], *found.columns), rows, len(found.columns), [root])

    def _together(self, one: Draft, other: Draft) -> Draft | None:
        """Both in one kernel, if spaces agree and nothing outside lies between them."""
        kinds = {one.kind, other.kind}
        if one.space != other.space or ("columns" in kinds and len(kinds) > 1):
            return None
        better = one if one.kind != "flat" else other
        if one.kind == other.kind and (one.rows, one.reduced) != (other.rows, other.reduced):
            return None
        roots = one.roots + other.roots
        if better.kind == "rows" and "flat" in kinds and is_long(better):
            return None
        if len(roots) > _MOST_OUTPUTS or self._lies_between(roots):
            return None
        if better.kind == "columns" and self._need_each_other(roots):
            return None
        return Draft(better.kind, better.space, better.rows, better.reduced, roots)

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


def _ordered(program: Program, groups: Iterable[Lowered], stored: frozenset[int]) -> list[Step]:
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
