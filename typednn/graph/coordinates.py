"""Coordinates: where a kernel reads an array, for each of its axes an axis of the kernel's space. Movements change
them.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from typednn.graph.graph import Shape
from typednn.graph.kinds import Kind
from typednn.graph.program import Instruction

# an axis of the space or NO_AXIS, what is added to it, and a bound if it may lie outside
Coordinate: TypeAlias = tuple[int, int, int]
NO_AXIS: Final = -1
UNBOUNDED: Final = -1

Coordinates: TypeAlias = tuple[Coordinate, ...]
HERE: Final[Coordinate] = (NO_AXIS, 0, UNBOUNDED)


def squeezed(shape: Shape) -> Shape:
    """Without axes of size 1."""
    return tuple(size for size in shape if size != 1)


def kept_and_reduced(each: Instruction, given: Instruction) -> tuple[list[int], list[int]]:
    """The axes of what a REDUCE reads, but those of size 1: those that stay and those that go."""
    axes = [axis for axis, size in enumerate(given.shape) if size != 1]
    return [axis for axis in axes if axis not in each.extra], [axis for axis in axes if axis in each.extra]


def identity(shape: Shape, first: int = 0) -> Coordinates:
    """The coordinates of an array whose axes, but those of size 1, are those of the space from ``first`` on."""
    coordinates: list[Coordinate] = []
    for size in shape:
        if size == 1:
            coordinates.append(HERE)
        else:
            coordinates.append((first, 0, UNBOUNDED))
            first += 1
    return tuple(coordinates)


def through(each: Instruction, given: Instruction, at: Coordinates) -> tuple[Coordinates, list[Coordinate]]:
    """Where a movement reads its input, and the coordinates that may lie outside, with their sizes as bounds."""
    if each.kind == Kind.EXPAND:
        return tuple(HERE if size == 1 else place for size, place in zip(given.shape, at, strict=True)), []
    if each.kind == Kind.PERMUTE:
        moved: list[Coordinate] = [HERE] * len(at)
        for axis, place in zip(each.extra, at, strict=True):
            moved[axis] = place
        return tuple(moved), []
    if each.kind == Kind.RESHAPE:
        rest = [place for size, place in zip(each.shape, at, strict=True) if size != 1]
        return tuple(HERE if size == 1 else rest.pop(0) for size in given.shape), []
    places: list[Coordinate] = []
    tests: list[Coordinate] = []
    for (before, after), size, (axis, offset, bound) in zip(each.extra, given.shape, at, strict=True):
        shifted = offset - before
        if before > 0 or after > 0:
            tests.append((axis, shifted, size))
            places.append(HERE if size == 1 else (axis, shifted, size))
        elif size == 1:
            places.append(HERE)
        else:
            places.append((axis, shifted, size if bound != UNBOUNDED else UNBOUNDED))
    return tuple(places), tests


def unreduced(each: Instruction, given: Instruction, at: Coordinates, first: int) -> Coordinates:
    """The coordinates of what a REDUCE reads: the axes that it reduces are those of the space from ``first`` on."""
    rest, coordinates = list(at), list[Coordinate]()
    for axis, size in enumerate(given.shape):
        if axis not in each.extra:
            coordinates.append(rest.pop(0))
        elif size == 1:
            coordinates.append(HERE)
        else:
            coordinates.append((first, 0, UNBOUNDED))
            first += 1
    return tuple(coordinates)
