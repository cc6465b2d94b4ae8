"""Lowering: the nodes of one kernel, from the instructions that it computes.

A value is read at coordinates: for each axis of its array an axis of the kernel's space. Movements change coordinates
and make no nodes. Axes of size 1 go, and neighbours that every array has side by side are one.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final, TypeAlias

from typednn.arrays import is_floating
from typednn.graph.coordinates import (
    HERE,
    NO_AXIS,
    UNBOUNDED,
    Coordinate,
    Coordinates,
    identity,
    kept_and_reduced,
    squeezed,
    through,
    unreduced,
)
from typednn.graph.description import MOST_WORK, Description, Group, Node, work
from typednn.graph.graph import Shape, number_of
from typednn.graph.kinds import DTYPES, MOVEMENTS, Kind
from typednn.graph.operations import POWERS, Binary, Unary
from typednn.graph.program import Instruction, Program

Make: TypeAlias = Callable[[list[int]], int]  # a node's number, from those of its operands
_MOST_INPUTS: Final = 24
# values that the search for rows visits at most; what needs more is cut into several kernels anyway
_MOST_PLACES: Final = 2048
LONG: Final = 1 << 16  # columns from which a row is reduced by several threads, where there are few rows
FEW_ROWS: Final = 8
_NAMES: Final = tuple(dtype.name for dtype in DTYPES)
VIEWS: Final = frozenset({Kind.EXPAND, Kind.PERMUTE, Kind.RESHAPE})


class ApartError(Exception):
    """These values can't be computed by one kernel. ``stored``: what has to be stored first; ``alone``: what no kernel
    can compute.
    """

    def __init__(self, *stored: int, alone: Iterable[int] = ()) -> None:
        super().__init__()
        self.stored: tuple[int, ...] = stored
        self.alone: tuple[int, ...] = tuple(alone)


class TooMuchError(ApartError):
    """It is too much for one kernel: its largest part has to be stored first."""


def compilable(each: Instruction, inputs: Sequence[Instruction]) -> bool:
    """Whether a kernel can compute ``each``. Integers are only read, compared and cast to floats."""
    dtype, given = DTYPES[each.dtype], [DTYPES[other.dtype] for other in inputs]
    if not all(
        other.kind == "b" or ((is_floating(other) or other.kind == "i") and other.itemsize >= 4)
        for other in (dtype, *given)
    ):
        return False
    if each.kind in MOVEMENTS:
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


def only_ones(each: Instruction, given: Instruction) -> bool:
    """Whether a RESHAPE only adds or takes axes of size 1."""
    return [size for size in each.shape if size != 1] == [size for size in given.shape if size != 1]


def is_read(program: Program, stored: frozenset[int], place: int) -> bool:
    """Whether kernels read ``place`` from memory: not constants, and not views, which are index arithmetic on what they
    are of.
    """
    each = program.instructions[place]
    if place not in stored or each.kind == Kind.LEAF:
        return place in stored
    if each.kind == Kind.CONST:
        return DTYPES[each.dtype].kind in "iu" and abs(int(value_of(each))) >= 2**31
    if each.kind not in VIEWS:
        return True
    given = program.instructions[each.inputs[0]]
    return not compilable(each, [given]) or (each.kind == Kind.RESHAPE and not only_ones(each, given))


def value_of(constant: Instruction) -> Any:
    """The number of a CONST."""
    low, high = constant.extra
    return number_of(low, high, DTYPES[constant.dtype])


class Draft:
    """Stored values that may become one kernel: ``space`` of the sizes of axes, ``rows`` of them (or leading axes, of
    columns).
    """

    def __init__(self, kind: str, space: Shape, rows: int, reduced: int, roots: list[int]) -> None:
        self.kind: str = kind
        self.space: Shape = space
        self.rows: int = rows
        self.reduced: int = reduced
        self.roots: list[int] = roots


def is_long(draft: Draft) -> bool:
    """Whether it has few rows of many columns, so that several threads reduce one."""
    return math.prod(draft.space[: draft.rows]) < FEW_ROWS and math.prod(draft.space[draft.rows :]) >= LONG


class Rows:
    """Whether a stored value is computed by rows: the number of ``rows``, and the sizes of ``columns``; None where
    nothing is reduced.
    """

    def __init__(self, program: Program, stored: frozenset[int], root: int) -> None:
        self.program: Program = program
        self.stored: frozenset[int] = stored
        self.root: int = root
        self.columns: Shape | None = None
        self.rows: int = 0
        self.shape: Shape = squeezed(program.instructions[root].shape)
        self._seen: set[tuple[int, Coordinates]] = set()
        self._walk(root, identity(program.instructions[root].shape))

    def _walk(self, place: int, at: Coordinates) -> None:
        waiting = [(place, at)]
        while waiting and len(self._seen) < _MOST_PLACES:
            place, at = waiting.pop()
            each = self.program.instructions[place]
            read = place != self.root and is_read(self.program, self.stored, place)
            if (place, at) in self._seen or read or each.kind in (Kind.CONST, Kind.LEAF):
                continue
            self._seen.add((place, at))
            if each.kind in MOVEMENTS:
                waiting.append((each.inputs[0], through(each, self.program.instructions[each.inputs[0]], at)[0]))
            elif each.kind != Kind.REDUCE:
                waiting += [(given, at) for given in each.inputs]
            else:
                waiting.append((each.inputs[0], self._reduced(place, each, at)))

    def _reduced(self, place: int, each: Instruction, at: Coordinates) -> Coordinates:
        given = self.program.instructions[each.inputs[0]]
        kept, reduced = kept_and_reduced(each, given)
        sizes = tuple(given.shape[axis] for axis in reduced)
        axes = [axis for axis, _, _ in at if axis != NO_AXIS]
        rows = len(kept)
        if reduced:
            fits = at == identity(each.shape) and axes == list(range(rows)) and (not kept or kept[-1] < reduced[0])
            full = self.shape[rows:] or sizes
            if (
                not fits
                or rows > len(self.shape)
                or full != sizes
                or (self.columns is not None and (self.rows, self.columns) != (rows, sizes))
            ):
                # A row of many numbers that one thread would reduce is reduced first.
                raise ApartError(place)
            if self.shape[rows:] and math.prod(self.shape[:rows]) < FEW_ROWS and math.prod(sizes) >= LONG:
                raise ApartError(place)
            self.rows, self.columns = rows, sizes
        return unreduced(each, given, at, rows)


class Lowered:
    """The nodes of a draft."""

    def __init__(self, program: Program, stored: frozenset[int], draft: Draft) -> None:
        self.program: Program = program
        self.stored: frozenset[int] = stored
        self.draft: Draft = draft
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
        self.outputs: list[int] = [self._node(root, self._at(root), root) for root in draft.roots]
        if len(self.inputs) > _MOST_INPUTS and len(draft.roots) > 1:
            raise ApartError

    def _shape(self, place: int) -> Shape:
        return self.program.instructions[place].shape

    def _at(self, root: int) -> Coordinates:
        shape = self.program.instructions[root].shape
        if self.draft.kind == "columns":
            rows, reduced = self.draft.rows, self.draft.reduced
            axes = [*range(rows), *range(rows + reduced, len(self.draft.space))]
            return tuple(HERE if size == 1 else (axes.pop(0), 0, UNBOUNDED) for size in shape)
        return identity(shape)

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
            if began >= 0 and here not in self.stored and self.program.instructions[here].kind not in VIEWS:
                self._largest = max(self._largest, (self._work - began, here))
            if self._work > MOST_WORK and self._largest[0] > 0:
                raise TooMuchError(self._largest[1])
        return known["at", place, at]

    def _parts(self, place: int, at: Coordinates, is_root: bool) -> tuple[list[tuple[int, Coordinates]], Make]:
        """What a value needs, and the function that makes its node of their nodes."""
        instructions = self.program.instructions
        each = instructions[place]
        dtype = _NAMES[each.dtype]
        if not is_root and is_read(self.program, self.stored, place):
            if place in self.draft.roots:
                if at != self._at(place):
                    raise ApartError
                return [], lambda _: self._earlier(place, at)
            return [], lambda _: self._read(place, at)
        if each.kind == Kind.CONST:
            return [], lambda _: self._add(_number(each))
        self.visited.add(place)
        given = [instructions[other] for other in each.inputs]
        if each.kind in MOVEMENTS:
            moved, tests = through(each, given[0], at)
            if tests:
                return [(each.inputs[0], moved)], lambda of: self._add(("inside", tuple(tests), dtype, of[0]))
            return [(each.inputs[0], moved)], lambda of: of[0]
        if each.kind == Kind.REDUCE:
            _, reduced = kept_and_reduced(each, given[0])
            if not reduced:
                return [(each.inputs[0], unreduced(each, given[0], at, 0))], lambda of: of[0]
            if self.draft.kind == "flat" or (self.draft.kind == "columns" and not is_root):
                raise ApartError(place)
            below = unreduced(each, given[0], at, self.draft.rows)
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
                value = float(value_of(exponent))
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
            raise ApartError(*given) if not self.stored.issuperset(given) else ApartError(alone=reduced)
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
        description = Description(
            kind,
            len(extents),
            arrays,
            tuple(dtype for dtype, _ in scalars),
            nodes,
            tuple(outputs[1]),
            kind == "rows" and is_long(draft),
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
            zip(self.draft.roots, self.outputs, strict=True), key=lambda pair: -len(squeezed(self._shape(pair[0])))
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
    dtype, value = DTYPES[each.dtype], value_of(each)
    if dtype.kind == "b":
        return ("true",) if value else ("false",)
    return "number", dtype.name, value.item()
