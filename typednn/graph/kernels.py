"""Kernels: the Halide pipeline of a `typednn.graph.grouping.Description`.

Arithmetic is strict: in the order of the program, with NaN and infinities as NumPy has them. Reductions have several
running numbers in each lane; what is added over many blocks is added in double precision. Pieces of rows are of fixed
sizes, so that results don't depend on the number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any, Final, TypeAlias

from typednn.engines import Array, Cpu, Kernel, Scalar, hl, kernel, nan, specialised, type_of
from typednn.graph.coordinates import NO_AXIS, UNBOUNDED, Coordinate, Coordinates
from typednn.graph.description import Description, Node, dtype_of, operands, work
from typednn.graph.operations import POWERS, Binary, Reduce, Unary
from typednn.graph.operations.halide_functions import infinite
from typednn.kernels.elementwise import PARALLEL_FROM_EXP

_PIECE: Final = 1 << 14  # numbers of a task
_ROWS: Final = 128  # rows of a piece, where the sum is over rows
_BLOCK: Final = 1 << 13  # numbers of a piece of a long row
_FEW_APART: Final = 4  # arrays that are read one number at a time
_LARGE: Final = 16  # operations that are not repeated
_LARGEST: Final = 64  # operations of one expression: the compiler's time grows faster than they do
_ALIKE: Final = frozenset({Binary.EQUAL, Binary.NOT_EQUAL, Binary.GREATER_EQUAL})  # NaN and itself: no, yes, no
_LARGEST_TREE: Final = 2000  # the same, each operation counted as often as it is written down

Where: TypeAlias = "Sequence[hl.Expr]"  # a place in the space, an expression for each axis


@specialised("graph")
def kernel_of(description: Description) -> Kernel:
    """The kernel that computes ``description``: arrays and scalars in, results out."""
    return kernel(
        f"graph.{description.kind}",
        build,
        inputs=(
            *[Array(*names, dtype=dtype) for dtype, names in description.arrays],
            *[Scalar(dtype) for dtype in description.scalars],
        ),
        outputs=tuple(Array(*names, dtype=dtype) for _, dtype, names in description.outputs),
        options={"description": tuple(description)},
    )


def build(cpu: Cpu, *arguments: Any, description: tuple[Any, ...]) -> list[hl.Func]:
    """The outputs' Funcs."""
    return _Builder(cpu, arguments, Description(*description)).outputs()


def _function(kind: str, operation: float) -> Callable[..., hl.Expr]:
    """The expression of a node, from those of its operands."""
    if kind == "power":
        return POWERS[operation][0]
    found = (Unary if kind == "unary" else Binary)(operation).row.halide
    assert found is not None  # `typednn.graph.lowering.compilable` lets no other function through
    return found


def _type(dtype: str) -> hl.Type:
    """Halide's type of this name."""
    return {
        "float32": hl.Float(32),
        "float64": hl.Float(64),
        "bool": hl.Bool(),
        "int32": hl.Int(32),
        "int64": hl.Int(64),
    }[dtype]


@cache
def _written(kind: str, operation: float, dtype: str) -> tuple[int, list[int]]:
    """How many operations a function of one or two numbers is, and how often each number stands in it."""
    names = ["operand_one", "operand_two"][: 2 if kind == "binary" else 1]
    text = str(_function(kind, operation)(*[hl.cast(_type(dtype), hl.Param(_type(dtype), name)) for name in names]))
    return text.count("(") + 1, [text.count(name) for name in names]


def _start(operation: int, real: hl.Type) -> hl.Expr:
    """What a reduction begins with."""
    start = Reduce(operation).row.start
    if math.isfinite(start):
        return hl.cast(real, hl.f64(start))
    found = infinite(hl.cast(real, hl.f64(0)))
    return found if start > 0 else -found


# ------------------------------------------------------------------ the pipeline


class _Builder:
    """The Funcs of one description."""

    def __init__(self, cpu: Cpu, arguments: Sequence[Any], how: Description) -> None:
        self.how = how
        self.arrays: Sequence[hl.ImageParam] = arguments[: len(how.arrays)]
        self.scalars: Sequence[hl.Param] = arguments[len(how.arrays) :]
        double = any(dtype == "float64" for dtype, _ in how.arrays) or "float64" in how.scalars
        self.lanes: int = cpu.of("float64" if double else "float32").lanes
        self.extents: Where = self.scalars[: how.rank]
        self.axes = [hl.Var(f"axis{axis}") for axis in range(how.rank)]
        self.operands = [operands(node) for node in how.nodes]
        self.by_column = self._along(how.rank - 1)
        self.funcs: dict[int, hl.Func] = {}
        self.known: dict[tuple[int, int], hl.Expr] = {}
        self.keys: list[hl.Expr | None] = [None]  # expressions for the last axis, by the number that stands for them
        self.stored = self._stored()

    def _along(self, axis: int) -> list[bool]:
        """Of each node, whether it changes along ``axis``; a reduction doesn't, along the one that it reduces."""
        found: list[bool] = []
        for node, given in zip(self.how.nodes, self.operands, strict=True):
            coordinates = node[2] if node[0] == "read" else node[1] if node[0] == "inside" else ()
            own = [each[0] for each in coordinates]
            found.append(node[0] != "reduce" and (axis in own or any(found[each] for each in given)))
        return found

    def _stored(self) -> set[int]:
        """Nodes with a Func of their own: what several need and is not cheap, and reductions."""
        nodes, rows = self.how.nodes, self.how.kind == "rows"
        outputs = [node for node, _, _ in self.how.outputs]
        sizes, ends = self._sizes()
        found: set[int] = set()
        users: list[set[int]] = [set() for _ in nodes]
        parents = [0] * len(nodes)
        for place, node in enumerate(outputs):
            users[node].add(-1 if rows and self.by_column[node] else -2 - place)
            parents[node] += 1
        for number in reversed(range(len(nodes))):
            kind = nodes[number][0]
            many = (len(users[number]) if rows else parents[number]) > 1
            heavy = sizes[number] >= _LARGE
            if kind == "reduce":
                if rows:
                    found.add(number)
            elif not self.operands[number] or (self.how.is_long and self.by_column[number]):
                pass
            elif rows and not self.by_column[number]:
                if parents[number] > 1 or sizes[number] >= 2:
                    found.add(number)
            elif number in ends or (many and heavy):
                found.add(number)
            for operand in self.operands[number]:
                parents[operand] += 1
                if number in found:
                    users[operand].add(number)
                else:
                    users[operand] |= users[number]
        return found

    def _sizes(self) -> tuple[list[int], set[int]]:
        """Of each node the operations of its expression, what it shares counted each time; and where expressions end
        that are too large.

        Halide walks an expression as a tree: what an operation writes down five times is walked five times, and so on
        below it.
        """
        found: list[int] = []
        trees: list[int] = []
        ends: set[int] = set()
        for number, given in enumerate(self.operands):
            own, uses = self._written(number)
            size = self._weight(number) + sum(found[each] for each in given)
            tree = own + sum(times * trees[each] for times, each in zip(uses, given, strict=True))
            if size > _LARGEST or tree > _LARGEST_TREE:
                # A longer one would begin anew here.
                ends |= {each for each in given if found[each] > 1}
                size = self._weight(number) + sum(min(found[each], 1) for each in given)
                tree = own + sum(
                    times * (trees[each] if found[each] <= 1 else 1) for times, each in zip(uses, given, strict=True)
                )
            found.append(size)
            trees.append(tree)
        return found, ends

    def _written(self, number: int) -> tuple[int, list[int]]:
        """How many operations a node's own expression has, and how often each operand stands in it."""
        node, given = self.how.nodes[number], self.operands[number]
        if node[0] == "reduce" or not given:
            return 1, [0] * len(given)  # a reduction is no part of an expression: it has a Func
        if node[0] == "unary" or node[0] == "power" or (node[0] == "binary" and node[1] != Binary.MASKED):
            return _written(node[0], node[1], dtype_of(self.how, given[0]))
        return 1, [1] * len(given)

    def _weight(self, number: int) -> int:
        node = self.how.nodes[number]
        return Unary(node[1]).row.weight if node[0] == "unary" else int(bool(self.operands[number]))

    # ------------------------------------------------------------- expressions

    def at(self, number: int, where: Where, key: int) -> hl.Expr:
        """The value of a node; ``key`` names ``where``."""
        if number in self.funcs:
            arguments = where if self.by_column[number] or self.how.kind != "rows" else where[:-1]
            return self.funcs[number][tuple(reversed(arguments))]
        known = self.known.get((number, key))
        if known is None:
            known = self.known[number, key] = self._expression(number, where, key)
        return known

    def _expression(self, number: int, where: Where, key: int) -> hl.Expr:
        node = self.how.nodes[number]
        kind = node[0]
        if kind == "read":
            return self._read(node, where)
        if kind == "number":
            scalar: int = node[2]
            return hl.cast(_type(node[1]), self.scalars[scalar])
        if kind in ("true", "false"):
            return hl.cast(hl.Bool(), int(kind == "true"))
        values = [self.at(each, where, key) for each in self.operands[number]]
        if kind == "inside":
            tests = [self._test(each, where) for each in node[1]]
            return hl.select(reduce(lambda x, y: x & y, tests), values[0], hl.cast(_type(node[2]), 0))
        if kind == "cast":
            if node[1] == "bool":
                return values[0] != hl.cast(type_of(values[0]), 0) if type_of(values[0]).bits() > 1 else values[0]
            return hl.cast(_type(node[1]), values[0])
        if kind == "binary" and node[3] == node[4] and node[1] in _ALIKE and type_of(values[0]).is_float():
            return self._alike(node[1], values[0])
        return _function(kind, node[1])(*values)

    def _alike(self, operation: int, x: hl.Expr) -> hl.Expr:
        """A number compared with itself, which Halide would take for the same even if it is NaN."""
        return nan.is_nan(x) if operation == Binary.NOT_EQUAL else nan.bits(x) <= nan.infinity(x)

    def _place(self, coordinate: Coordinate, where: Where) -> hl.Expr:
        axis, offset, _ = coordinate
        if axis == NO_AXIS:
            return self.scalars[offset]
        return where[axis] if offset == NO_AXIS else where[axis] + self.scalars[offset]

    def _test(self, coordinate: Coordinate, where: Where) -> hl.Expr:
        at = self._place(coordinate, where)
        return (at >= 0) & (at < self.scalars[coordinate[2]])

    def _read(self, node: Node, where: Where) -> hl.Expr:
        number: int = node[1]
        coordinates: Coordinates = node[2]
        array = self.arrays[number]
        places: list[hl.Expr] = []
        for coordinate in coordinates:
            at = self._place(coordinate, where)
            places.append(
                at if coordinate[2] == UNBOUNDED else hl.likely(hl.clamp(at, 0, self.scalars[coordinate[2]] - 1))
            )
        return array[tuple(reversed(places))]

    def strict(self, value: hl.Expr) -> hl.Expr:
        """In the program's order, with NaN and infinities."""
        return hl.strict_float(value)

    # ------------------------------------------------------------- reductions

    def reduced(
        self,
        name: str,
        operation: int,
        value: Callable[[hl.Expr], hl.Expr],
        start: hl.Expr | int,
        count: hl.Expr | int,
        at: tuple[hl.Var, ...],
    ) -> tuple[hl.Func, list[hl.Func]]:
        """The reduction of value(k) for ``count`` numbers k from ``start`` on, and the Funcs that it is made of.
        ``at``: its other Vars.
        """
        lanes = self.lanes
        wide, lane, count = 4 * lanes, hl.Var("lane"), hl.cast(hl.Int(32), count)
        real = type_of(value(hl.i32(0)))
        combine = Reduce(operation).row.halide
        running = hl.Func(f"{name}_running")
        vectors = hl.RDom([(0, count / wide)])
        running[(lane, *at)] = _start(operation, real)
        running[(lane, *at)] = self.strict(combine(running[(lane, *at)], value(start + lane + vectors.x * wide)))
        done = count / wide * wide
        more = hl.RDom([(0, lanes), (0, (count - done) / lanes)])
        running[(more.x, *at)] = self.strict(
            combine(running[(more.x, *at)], value(start + done + more.x + more.y * lanes))
        )
        stages = [running]
        running.bound(lane, 0, wide).vectorize(lane, lanes).unroll(lane)
        running.update(0).reorder(lane, vectors.x).vectorize(lane, lanes).unroll(lane)
        running.update(1).vectorize(more.x, lanes)
        width, last = wide, running
        while width > 1:
            parts = 4 if width % 4 == 0 else 2
            width //= parts
            folded = hl.Func(f"{name}_{width}")
            terms: list[hl.Expr] = [last[(lane + width * place, *at)] for place in range(parts)]
            while len(terms) > 1:
                terms = [self.strict(combine(*pair)) for pair in zip(terms[::2], terms[1::2], strict=True)]
            folded[(lane, *at)] = terms[0]
            folded.bound(lane, 0, width).vectorize(lane, width)
            stages.append(folded)
            last = folded
        result = hl.Func(name)
        whole = done + (count - done) / lanes * lanes
        rest = hl.RDom([(0, count - whole)])
        result[at] = last[(0, *at)]
        result[at] = self.strict(combine(result[at], value(start + whole + rest.x)))
        return result, stages

    def _each(self, value: hl.Expr, place: hl.Expr) -> hl.Expr:
        """The same ``value`` at each place: an update that doesn't name its RDom would be done once."""
        return hl.select(place >= 0, value, hl.cast(type_of(value), 0))

    def _reduction(self, number: int, name: str) -> hl.Func:
        """The Func of a reduction over columns, scheduled within itself; where it is computed is said later."""
        node = self.how.nodes[number]
        rows = tuple(self.axes[:-1])
        at = tuple(reversed(rows))

        def value(column: hl.Expr) -> hl.Expr:
            key = len(self.keys)
            self.keys.append(column)  # an expression's number: the list keeps it alive
            found = self.at(node[3], (*rows, column), key)
            return found if self.by_column[node[3]] else self._each(found, column)

        count = self.extents[-1]
        if not self.how.is_long:
            result, stages = self.reduced(name, node[1], value, 0, count, at)
            for stage in stages:
                stage.compute_at(result, rows[-1]).store_in(hl.MemoryType.Stack)
            return result
        piece = hl.Var("piece")
        partial_result, stages = self.reduced(
            f"{name}_piece", node[1], lambda k: value(piece * _BLOCK + k), 0, _BLOCK, (piece, *at)
        )
        for stage in stages:
            stage.compute_at(partial_result, piece).store_in(hl.MemoryType.Stack)
        pieces = count / _BLOCK
        partial_result.compute_root().parallel(piece)
        partial_result.update().parallel(piece)
        tail, stages = self.reduced(f"{name}_tail", node[1], value, pieces * _BLOCK, count - pieces * _BLOCK, at)
        for stage in stages:
            stage.compute_at(tail, rows[-1]).store_in(hl.MemoryType.Stack)
        tail.compute_root()
        total, result, over = hl.Func(f"{name}_total"), hl.Func(name), hl.RDom([(0, pieces)])
        combine, real = Reduce(node[1]).row.halide, _type(node[2])
        kind = hl.Float(64) if Reduce(node[1]).row.is_total else real
        total[at] = hl.cast(kind, tail[at])
        total[at] = self.strict(combine(total[at], hl.cast(kind, partial_result[(over.x, *at)])))
        total.compute_root()
        result[at] = hl.cast(real, total[at])
        return result

    # ------------------------------------------------------------- outputs

    def outputs(self) -> list[hl.Func]:
        """The outputs' Funcs, scheduled."""
        if self.how.kind == "columns":
            return self._columns()
        how, axes = self.how, self.axes
        inwards = tuple(reversed(axes))
        for number in sorted(self.stored):
            if how.nodes[number][0] == "reduce":
                func = self._reduction(number, f"row{number}")
            else:
                func = hl.Func(f"value{number}")
                rows = how.kind == "rows" and not self.by_column[number]
                func[inwards[1:] if rows else inwards] = self.strict(self._expression(number, axes, 0))
            self.funcs[number] = func
        wide = [node for node, _, names in how.outputs if len(names) == how.rank]
        narrow = [node for node, _, names in how.outputs if len(names) != how.rank]
        results: list[hl.Func] = []
        for name, members, at in (("results", wide, inwards), ("of_rows", narrow, inwards[1:])):
            if members:
                func = hl.Func(name)
                values = [self.strict(self.at(node, axes, 0)) for node in members]
                func[at] = hl.Tuple(values) if len(values) > 1 else values[0]
                results.append(func)
        if how.kind == "flat":
            self._flat(results[0])
        elif how.is_long:
            for func in self.funcs.values():
                func.compute_root()
        else:
            self._rows(results, bool(wide))
        return results

    def _flat(self, func: hl.Func) -> None:
        axes = self.axes
        guard, inwards = hl.TailStrategy.GuardWithIf, hl.TailStrategy.ShiftInwards
        total = reduce(lambda x, y: x * y, self.extents)
        last, piece, vector = axes[-1], hl.Var("piece"), hl.Var("vector")
        # Where a vector fits, the last one overlaps the one before.
        # Several vectors at once hide the time that each operation takes; numbers read one at a time are many
        # instructions as it is.
        apart = sum(node[0] == "read" and work(node) > 1 for node in self.how.nodes)
        wide = self.lanes if apart > _FEW_APART else 4 * self.lanes
        several = func.specialize((total >= PARALLEL_FROM_EXP) & (self.extents[-1] >= wide))
        if len(axes) == 1:
            several.split(last, piece, last, _PIECE, inwards)
        else:
            outer = axes[0]
            for axis in axes[1:-1]:
                several.fuse(axis, outer, outer)
            several.split(outer, piece, outer, hl.max(_PIECE // 4 / hl.max(self.extents[-1], 1), 1), guard)
        several.parallel(piece).split(last, vector, last, wide, inwards).vectorize(last)
        func.specialize(self.extents[-1] >= self.lanes).split(last, vector, last, self.lanes, inwards).vectorize(last)
        func.split(last, vector, last, self.lanes, guard).vectorize(last)
        for inner in self.funcs.values():
            inner.compute_at(func, vector).vectorize(last, self.lanes, guard)

    def _rows(self, results: list[hl.Func], has_wide: bool) -> None:
        guard = hl.TailStrategy.GuardWithIf
        axes = self.axes
        last, row, piece = axes[-1], axes[-2], hl.Var("piece")
        rows = hl.max(_PIECE // 4 / hl.max(self.extents[-1], 1), 1)
        main = results[0]
        for func in results:
            func.split(row, piece, row, rows, guard).parallel(piece)
            for axis in axes[:-2]:
                func.parallel(axis)
        if has_wide:
            main.vectorize(last, self.lanes, guard)
        together = len(results) > 1
        if together:
            results[1].compute_with(main, piece)
        for number in sorted(self.funcs):
            func = self.funcs[number]
            func.compute_at(main, piece if together else row)
            if self.by_column[number]:
                func.vectorize(last, self.lanes, guard)

    def _columns(self) -> list[hl.Func]:
        how, axes, guard = self.how, self.axes, hl.TailStrategy.GuardWithIf
        last, leading = axes[-1], tuple(axes[:-2])
        piece, tile = hl.Var("piece"), hl.Var("tile")
        members = [how.nodes[node] for node, _, _ in how.outputs]
        at = (last, piece, *reversed(leading))
        count = self.extents[-2]
        row = hl.RDom([(0, _ROWS)])
        row.where(piece * _ROWS + row.x < count)
        place = hl.unsafe_promise_clamped(piece * _ROWS + row.x, 0, count - 1)
        inner: list[hl.Func] = []
        for number in sorted(self.stored):
            if how.nodes[number][0] != "reduce":
                func = hl.Func(f"value{number}")
                func[tuple(reversed(axes))] = self.strict(self._expression(number, axes, 0))
                self.funcs[number] = func
                inner.append(func)
        running, pieces = hl.Func("running"), hl.Func("pieces")
        several = len(members) > 1

        def of(func: hl.Func, where: Where, number: int) -> hl.Expr:
            return func[where][number] if several else func[where]

        def together(values: list[hl.Expr]) -> hl.Expr | hl.Tuple:
            return hl.Tuple(values) if several else values[0]

        running[at] = together([_start(node[1], _type(node[2])) for node in members])
        by_row, values = self._along(how.rank - 2), [self.at(node[3], (*leading, place, last), 1) for node in members]
        values = [
            value if by_row[node[3]] else self._each(value, row.x) for node, value in zip(members, values, strict=True)
        ]
        running[at] = together(
            [
                self.strict(Reduce(node[1]).row.halide(of(running, at, number), value))
                for number, (node, value) in enumerate(zip(members, values, strict=True))
            ]
        )
        pieces[at] = together([of(running, at, number) for number in range(len(members))])
        width = self.lanes * max(4 // len(members), 1)
        pieces.compute_root().split(last, tile, last, width, guard).vectorize(last, self.lanes, guard).parallel(piece)
        for axis in leading:
            pieces.parallel(axis)
        running.compute_at(pieces, tile).store_in(hl.MemoryType.Stack).vectorize(last, self.lanes, guard)
        running.update().reorder(last, row.x).vectorize(last, self.lanes, guard)
        for func in inner:
            func.compute_at(running, row.x).vectorize(last, self.lanes, guard)
        results: list[hl.Func] = []
        for number, node in enumerate(members):
            total, result, every = (
                hl.Func(f"total{number}"),
                hl.Func(f"result{number}"),
                hl.RDom([(0, (count + _ROWS - 1) / _ROWS)]),
            )
            kind = hl.Float(64) if Reduce(node[1]).row.is_total else _type(node[2])
            outwards = (last, *reversed(leading))
            total[outwards] = hl.cast(kind, _start(node[1], _type(node[2])))
            part = hl.cast(kind, of(pieces, (last, every.x, *reversed(leading)), number))
            total[outwards] = self.strict(Reduce(node[1]).row.halide(total[outwards], part))
            result[outwards] = hl.cast(_type(node[2]), total[outwards])
            vector = hl.Var("vector")
            result.compute_root().split(last, vector, last, self.lanes, guard).vectorize(last)
            total.compute_at(result, vector).vectorize(last, self.lanes, guard)
            total.update().reorder(last, every.x).vectorize(last, self.lanes, guard)
            results.append(result)
        return results


__all__ = ["build", "kernel_of"]
