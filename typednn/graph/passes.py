"""Passes: what is changed in a program before it is computed, so that less is computed and stored.

=================  ========================================================================================
pass               changes
=================  ========================================================================================
fold_constants     what is computed from constants alone becomes one
common             an instruction that is there already is not computed twice
products           a sum over the products of two expanded inputs becomes one PRODUCT, and the pairs are never stored
windows            a product reads its windows from what they are of, or adds to them; they are stored a block at a time
dead               what nothing needs goes
=================  ========================================================================================

Each can be left out, `without_passes`: the results stay equal, those of PRODUCT and of constants to rounding.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Final, TypeAlias

import numpy as np

from typednn.arrays import is_floating
from typednn.errors import ArgumentError, explain
from typednn.graph.graph import Shape, bits_of, number_of
from typednn.graph.interpreter import compute
from typednn.graph.kinds import DTYPES, Kind
from typednn.graph.operations import Binary, Reduce
from typednn.graph.program import PRODUCT, Contraction, Instruction, Program
from typednn.graph.views import windows

Pass: TypeAlias = Callable[[Program], Program]


def _rewritten(program: Program, change: Callable[[Instruction, list[Instruction]], Instruction | int]) -> Program:
    """Each instruction as ``change`` gives it, or the place of another that has its value. It sees the new ones before
    it.
    """
    new: list[Instruction] = []
    places: list[int] = []
    for instruction in program.instructions:
        moved = instruction._replace(inputs=tuple(places[each] for each in instruction.inputs))
        changed = change(moved, new)
        if isinstance(changed, int):
            places.append(changed)
        else:
            places.append(len(new))
            new.append(changed)
    return Program(tuple(new), tuple(places[each] for each in program.outputs))


def fold_constants(program: Program) -> Program:
    """Constants of constants, and movements of constants; a factor of 1 goes."""

    def change(each: Instruction, new: list[Instruction]) -> Instruction | int:
        inputs = [new[place] for place in each.inputs]
        if each.kind == Kind.BINARY and each.operation in (Binary.MULTIPLY, Binary.DIVIDE):
            one = bits_of(1, DTYPES[each.dtype])
            if inputs[1].kind == Kind.CONST and inputs[1].extra == one:
                return each.inputs[0]
            if each.operation == Binary.MULTIPLY and inputs[0].kind == Kind.CONST and inputs[0].extra == one:
                return each.inputs[1]
        if not inputs or any(given.kind != Kind.CONST for given in inputs):
            return each
        if each.kind in (Kind.EXPAND, Kind.PERMUTE, Kind.RESHAPE):
            return inputs[0]._replace(shape=each.shape)
        if each.kind not in (Kind.UNARY, Kind.BINARY, Kind.CAST):
            return each
        numbers = [np.asarray(number_of(given.extra[0], given.extra[1], DTYPES[given.dtype])) for given in inputs]
        with np.errstate(all="ignore"):
            value = compute(each._replace(shape=()), numbers, np)
        return Instruction(Kind.CONST, 0, each.dtype, each.shape, (), bits_of(value, DTYPES[each.dtype]))

    return _rewritten(program, change)


def common(program: Program) -> Program:
    """Equal instructions of equal inputs are one."""
    seen: dict[Instruction, int] = {}

    def change(each: Instruction, new: list[Instruction]) -> Instruction | int:
        place = seen.setdefault(each, len(new))
        return each if place == len(new) else place

    return _rewritten(program, change)


def products(program: Program) -> Program:
    """SUM of MULTIPLY of inputs of which one at least is expanded along an axis that the sum keeps, and neither along
    one that it sums.
    """

    def change(each: Instruction, new: list[Instruction]) -> Instruction | int:
        if each.kind != Kind.REDUCE or each.operation != Reduce.SUM or not is_floating(DTYPES[each.dtype]):
            return each
        multiply = new[each.inputs[0]]
        if multiply.kind != Kind.BINARY or multiply.operation != Binary.MULTIPLY:
            return each
        places = [new[place].inputs[0] if new[place].kind == Kind.EXPAND else place for place in multiply.inputs]
        shapes = [new[place].shape for place in places]
        axes: Shape = each.extra
        summed = [axis for axis in axes if multiply.shape[axis] > 1]
        kept = [axis for axis in range(len(multiply.shape)) if axis not in axes and multiply.shape[axis] > 1]
        expanded = [{axis for axis in kept if shape[axis] == 1} for shape in shapes]
        if not all(expanded) or any(shape[axis] == 1 for shape in shapes for axis in summed):
            return each
        return Instruction(PRODUCT, 0, each.dtype, each.shape, tuple(places), Contraction(multiply.shape, axes))

    return _rewritten(program, change)


def dead(program: Program) -> Program:
    """Only what the results need."""
    needed = set(program.outputs)
    for place in reversed(range(len(program.instructions))):
        if place in needed:
            needed.update(program.instructions[place].inputs)
    places = {old: new for new, old in enumerate(sorted(needed))}
    kept = [program.instructions[old] for old in sorted(needed)]
    moved = tuple(each._replace(inputs=tuple(places[old] for old in each.inputs)) for each in kept)
    return Program(moved, tuple(places[old] for old in program.outputs))


PASSES: Final[dict[str, Pass]] = {
    "fold_constants": fold_constants,
    "common": common,
    "products": products,
    "windows": windows,
    "dead": dead,
}
_NONE: Final[frozenset[str]] = frozenset()
_left_out: list[frozenset[str]] = []


@contextmanager
def without_passes(*names: str) -> Generator[None]:
    """Within this block programs are computed without these passes; without any if none is named."""
    unknown = [name for name in names if name not in PASSES]
    if unknown:
        raise ArgumentError(explain("without_passes", f"names are {', '.join(PASSES)}", ", ".join(unknown)), "names")
    own = frozenset(names or PASSES)
    _left_out.append(own)
    try:
        yield
    finally:
        _left_out.remove(own)


def left_out() -> frozenset[str]:
    """The passes that are left out now."""
    return _NONE.union(*_left_out)


def optimised(program: Program) -> Program:
    """The program after all passes that are not left out."""
    skipped = left_out()
    for name, change in PASSES.items():
        if name not in skipped:
            program = change(program)
    return program
