"""Splitting: a program in two, of which the second is run where its result is wanted, and only then.

The first computes all results but one, and what both need; the second computes that one. A whole op that gives several
derivatives at once stands in each of both, and gives there what is wanted there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from typednn.graph.kinds import MOVEMENTS, Kind
from typednn.graph.passes import dead, optimised
from typednn.graph.program import PRODUCT, Instruction, Program
from typednn.graph.whole import Derived, Part


class Split(NamedTuple):
    """Two programs of the same arrays. ``later`` reads ``between`` more, after those: the last results of ``now``."""

    now: Program
    later: Program
    between: int


def split(program: Program, arrays: int) -> Split | None:
    """``program``, whose first result is wanted later than the others; it reads so many ``arrays``.

    None where that saves nothing: the first result is there with the others, or what it takes besides is done number by
    number. Nor where the second program would read an array that leaves with the results of the first, whose receiver
    may write into it.
    """
    first, *others = program.outputs
    now = _narrowed(optimised(program._replace(outputs=tuple(others))))
    later = _narrowed(optimised(program._replace(outputs=(first,))))
    instructions = list(now.instructions)
    seen = {each: place for place, each in enumerate(instructions)}
    places: list[int] = []
    for each in later.instructions:
        moved = each._replace(inputs=tuple(places[given] for given in each.inputs))
        place = _derived(now, moved) if isinstance(moved.extra, Derived) else seen.get(moved)
        if place is None:
            place = seen[moved] = len(instructions)
            instructions.append(moved)
        places.append(place)
    shared = len(now.instructions)
    rest = [each for each in instructions[shared:] if not isinstance(each.extra, Part)]
    if all(each.kind not in (Kind.CUSTOM, Kind.REDUCE, PRODUCT) for each in rest):
        return None
    read = {given for each in instructions[shared:] for given in each.inputs if given < shared}
    between = sorted(
        place for place in read if instructions[source(instructions, place)].kind not in (Kind.LEAF, Kind.CONST)
    )
    leave = {source(instructions, place) for place in now.outputs}
    tuples = {given for each in instructions if isinstance(each.extra, Part) for given in each.inputs}
    if any(place in tuples or source(instructions, place) in leave for place in between):
        return None
    known = list(instructions)
    for number, place in enumerate(between):
        of = instructions[place]
        known[place] = Instruction(Kind.LEAF, 0, of.dtype, of.shape, (), arrays + number)
    return Split(
        Program(now.instructions, (*now.outputs, *between)),
        dead(Program(tuple(known), (places[later.outputs[0]],))),
        len(between),
    )


def _derived(program: Program, wanted: Instruction) -> int | None:
    """Where ``program`` computes these derivatives of a whole op, and maybe more of them."""
    same = [
        place
        for place, each in enumerate(program.instructions)
        if isinstance(each.extra, Derived)
        and (each.extra.op, each.inputs) == (wanted.extra.op, wanted.inputs)
        and all(gives or not want for gives, want in zip(each.extra.wanted, wanted.extra.wanted, strict=True))
    ]
    return same[0] if same else None


def source(instructions: Sequence[Instruction], place: int) -> int:
    """Where the numbers of ``place`` were computed, before they were only moved."""
    while instructions[place].kind in MOVEMENTS:
        (place,) = instructions[place].inputs
    return place


def _narrowed(program: Program) -> Program:
    """Whole ops give the derivatives that are read, and no others."""
    read: dict[int, set[int]] = {}
    for each in program.instructions:
        if isinstance(each.extra, Part):
            read.setdefault(each.inputs[0], set()).add(each.extra.place)

    def narrowed(place: int, each: Instruction) -> Instruction:
        if not isinstance(each.extra, Derived):
            return each
        wanted = tuple(want and input_ in read[place] for input_, want in enumerate(each.extra.wanted))
        return each._replace(extra=replace(each.extra, wanted=wanted))

    return program._replace(
        instructions=tuple(narrowed(place, each) for place, each in enumerate(program.instructions))
    )


__all__ = ["Split", "source", "split"]
