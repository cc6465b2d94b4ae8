"""Program: what a `realize` computes, as a list of instructions, inputs first. Equal programs are computed by one plan.

An instruction is a node without its number: its inputs are places in the list. Two kinds of instructions are no nodes:
they are found by the passes, in `typednn.graph.passes`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

from typednn.graph.graph import GRAPH, Shape, number_of
from typednn.graph.kinds import DTYPES, Kind
from typednn.graph.operations import OPERATIONS

PRODUCT: Final = 12  # an instruction's kind beyond those of nodes


class Instruction(NamedTuple):
    """One step. ``extra``: the bits of a CONST, the place of a LEAF among the arrays, axes, widths, a function, or a
    `Contraction`.
    """

    kind: int
    operation: int
    dtype: int
    shape: Shape
    inputs: tuple[int, ...]
    extra: Any


class Contraction(NamedTuple):
    """How a PRODUCT reads its inputs, whose axes are those of the product, of size 1 where they were expanded: ``axes``
    are summed.
    """

    shape: Shape
    axes: Shape


class Program(NamedTuple):
    """Instructions, and the places of the results among them."""

    instructions: tuple[Instruction, ...]
    outputs: tuple[int, ...]


def traced(numbers: Iterable[int]) -> tuple[Program, list[int]]:
    """The program for these nodes, and the nodes whose arrays it reads."""
    graph, wanted = GRAPH, list(numbers)
    places: dict[int, int] = {}
    instructions: list[Instruction] = []
    leaves: list[int] = []
    for number in graph.ancestors(wanted, stop=graph.arrays):
        tag, x, y = graph.slab.words(number)
        kind, operation, dtype = tag & 0xFF, tag >> 8 & 0xFF, tag >> 16 & 0xFF
        inputs: tuple[int, ...] = ()
        extra: Any
        if number in graph.arrays:
            kind, operation, extra = Kind.LEAF, 0, len(leaves)
            leaves.append(number)
        elif kind == Kind.CONST:
            extra = x, y
        else:
            extra = graph.extras.get(number)
            inputs = tuple([places[each] for each in graph.inputs(number)])
            if kind == Kind.CUSTOM:
                extra = extra.function
        places[number] = len(instructions)
        instructions.append(Instruction(kind, operation, dtype, graph.shapes[number], inputs, extra))
    return Program(tuple(instructions), tuple(places[number] for number in wanted)), leaves


def last_uses(uses: Iterable[Iterable[int]], outputs: Iterable[int]) -> dict[int, list[int]]:
    """By step, the values that no step after it uses, but results; ``uses`` has each step's values by their places."""
    last = {place: number for number, places in enumerate(uses) for place in places}
    found: dict[int, list[int]] = {}
    for place in last.keys() - set(outputs):
        found.setdefault(last[place], []).append(place)
    return found


def name_of(each: Instruction) -> str:
    """What an instruction is called: its operation, its function, or its kind."""
    if each.kind in OPERATIONS:
        return OPERATIONS[each.kind](each.operation).title
    if each.kind == Kind.CUSTOM:
        return str(each.extra.name)
    return "product" if each.kind == PRODUCT else Kind(each.kind).name.lower()


def described(program: Program) -> str:
    """The program as text, an instruction on each line."""
    lines = list[str]()
    for place, each in enumerate(program.instructions):
        name = "custom" if each.kind == Kind.CUSTOM else name_of(each)  # whose function is told beside it
        extra = number_of(each.extra[0], each.extra[1], DTYPES[each.dtype]) if each.kind == Kind.CONST else each.extra
        told = "" if extra is None else f" {getattr(extra, 'name', extra)}"
        of = " ".join(f"%{given}" for given in each.inputs)
        lines.append(f"%{place} = {name}{told} {of} : {DTYPES[each.dtype]} {each.shape}".replace("  ", " "))
    return "\n".join([*lines, f"results {' '.join(f'%{place}' for place in program.outputs)}"])
