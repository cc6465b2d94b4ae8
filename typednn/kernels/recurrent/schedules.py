"""The schedules of the recurrent layers' kernels. Axes run backwards: the last one of NumPy first.

Sequences do not need each other, so a thread takes its own through all steps, and waits for no other. In a step it
reads what it wrote in the step before: that input and the output are the same memory, one step apart. Every sum runs
over its terms in a fixed order, whatever the number of threads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from typednn.engines import Cpu, hl, type_of
from typednn.kernels import sums
from typednn.kernels.expressions import Expressions
from typednn.kernels.linear import schedules as linear
from typednn.kernels.recurrent import cells
from typednn.kernels.recurrent.cells import GATES, KEEPS, Cell

SMALL = 256  # hidden_size up to which weight_hh stays in a core's cache from step to step
PARALLEL = 1 << 21  # multiplications from which a second thread pays: waking it takes some microseconds


# A number of a factor, at three places.
_Read: TypeAlias = "Callable[[hl.Expr | int, hl.Expr | int, hl.Expr | int], hl.Expr]"


def writes(cell: Cell) -> int:
    """Blocks that a step of `backward` writes: da, dz where it is another, and what is carried."""
    return {"gru": 7, "lstm": 5}.get(cell, 1)


@dataclass(frozen=True, slots=True)
class _Product:
    """[j, column, t, b] = Σ_i left(i, t, b)·right(i, column, j), over ``depth`` terms."""

    left: _Read
    right: _Read
    depth: int
    columns: int


def forward(
    cpu: Cpu,
    x: hl.ImageParam,
    other: hl.ImageParam,
    kept: hl.ImageParam,
    share: hl.Param,
    *weights: hl.ImageParam,
    inputs: int,
    cell: Cell,
    hidden: int,
) -> hl.Func:
    """``x`` is a if ``inputs`` is 0, else ``weights`` start with weight_ih; ``other`` is weight_hh or z; ``kept`` is of
    the step before.
    """
    count, gates, biases = GATES[cell], range(GATES[cell]), list(weights)
    a: hl.ImageParam | _Product = x
    z: hl.ImageParam | _Product = other
    if inputs:
        weight_ih = biases.pop(0)
        a = _Product(lambda i, t, b: x[i, t, b], lambda i, gate, j: weight_ih[i, gate * hidden + j], inputs, len(gates))
    if hidden <= SMALL:
        z = _Product(
            lambda i, t, b: kept[i, KEEPS[cell] - 1, b, t],
            lambda i, gate, j: other[i, gate * hidden + j],
            hidden,
            len(gates),
        )

    def formula(xp: Any, *numbers: Any) -> tuple[Any, ...]:
        return cells.forward(cell, xp, numbers[:count], numbers[count : 2 * count], numbers[2 * count :])

    def step(products: Sequence[hl.ImageParam | hl.Func], j: hl.Expr, t: hl.Expr, b: hl.Expr) -> list[hl.Expr]:
        blocks = [[product[j, gate, t, b] for gate in gates] for product in products]
        if biases:
            blocks = [
                [number + bias[j, gate] for gate, number in enumerate(block)]
                for block, bias in zip(blocks, biases, strict=True)
            ]
        numbers = [*blocks[0], *blocks[1], *_blocks(kept, j, t, b, KEEPS[cell])]
        made: list[hl.Expr] = Expressions(x.type().bits()).of(formula, numbers)
        return made

    return _steps(cpu, step, [a, z], KEEPS[cell], hidden, x.dim(x.dimensions() - 1).extent(), share)


def backward(
    cpu: Cpu,
    next_grad: hl.ImageParam,
    other: hl.ImageParam,
    gradients: hl.ImageParam,
    kept: hl.ImageParam,
    before: hl.ImageParam,
    share: hl.Param,
    cell: Cell,
    hidden: int,
) -> hl.Func:
    """``other`` is weight_hh, or dz weight_hh; ``gradients`` are those of the step after. Step s of the result is the
    last but s.
    """
    rows, first, last = (
        GATES[cell] * hidden,
        GATES[cell] * hidden if cell == "gru" else 0,
        next_grad.dim(1).extent() - 1,
    )
    of_state: hl.ImageParam | _Product = other
    if hidden <= SMALL:
        of_state = _Product(lambda i, s, b: gradients[first + i, b, s], lambda i, _, j: other[j, i], rows, 1)

    def formula(xp: Any, dhidden: Any, carried: Any, *states: Any) -> tuple[Any, ...]:
        after, earlier = states[: KEEPS[cell]], states[KEEPS[cell] :]
        da, dz, carries = cells.backward(cell, xp, dhidden, carried, after, earlier)
        return (*da, *(dz if cell == "gru" else ()), *(() if carries is None else (carries,)))

    def step(products: Sequence[hl.ImageParam | hl.Func], j: hl.Expr, s: hl.Expr, b: hl.Expr) -> list[hl.Expr]:
        dhidden = next_grad[j, last - s, b] + products[0][j, 0, s, b]
        states = [number for array in (kept, before) for number in _blocks(array, j, last - s, b, KEEPS[cell])]
        carried = gradients[(writes(cell) - 1) * hidden + j, b, s]
        made: list[hl.Expr] = Expressions(next_grad.type().bits()).of(formula, [dhidden, carried, *states])
        return made

    return _steps(cpu, step, [of_state], writes(cell), hidden, next_grad.dim(2).extent(), share)


def after(
    cpu: Cpu, gradients: hl.ImageParam, *weight_ih: hl.ImageParam, inputs: int, rows: int, columns: int
) -> list[hl.Func]:
    """dx[i, n] = Σ_k da[k, n]·weight_ih[i, k], unless ``inputs`` is 0, and the sum of each column over all steps of all
    sequences.
    """
    number = gradients.dim(1).extent()
    outputs = [linear.column_sums(cpu, gradients, number, False, columns)]
    if inputs:
        few = rows <= sums.FEW
        dx = linear.tiled_product(
            cpu, "dx", lambda n, k: gradients[k, n], lambda k, i: weight_ih[0][i, k], rows, few, inputs
        )
        dx.specialize(number >= max(16, PARALLEL // (rows * inputs))).parallel(hl.Var("outer_n"))
        outputs.insert(0, dx)
    return outputs


def _blocks(rows: hl.ImageParam, j: hl.Expr, t: hl.Expr, b: hl.Expr, count: int) -> list[hl.Expr]:
    return [rows[j, block, b, t] for block in range(count)]


def _steps(
    cpu: Cpu,
    step: Callable[[Sequence[hl.ImageParam | hl.Func], hl.Expr, hl.Expr, hl.Expr], list[hl.Expr]],
    products: Sequence[hl.ImageParam | _Product],
    count: int,
    hidden: int,
    batch: hl.Expr,
    share: hl.Expr,
) -> hl.Func:
    """The ``count`` blocks of each step, [j, block, b, t], from ``products``: arrays, or what is to be computed.

    A tile of a product stays in registers. The weights of its columns are adjacent, and in the first cache for all rows
    of a ``share``.
    """
    j, block, b, t, outer, tile, task, column, i = (
        hl.Var(name) for name in ("j", "block", "b", "t", "outer", "tile", "task", "column", "i")
    )
    found, out, totals = hl.Func("found"), hl.Func("out"), list[sums.Sum]()
    computed: list[Any] = list(products)  # a Func takes the place of each product
    columns = max((product.columns for product in products if isinstance(product, _Product)), default=0)
    lanes = min(cpu.lanes, 1 << (hidden.bit_length() - 1))
    wide = lanes * (2 if columns == 1 and hidden % (2 * lanes) == 0 else 1)
    height = max(1, cpu.registers // 2 * lanes // (columns * wide)) if columns else 1
    panel = wide if hidden % wide == 0 else hidden
    for place, product in enumerate(products):
        if isinstance(product, _Product):
            left, right, depth = product.left, product.right, product.depth
            packed, computed[place] = hl.Func("packed"), hl.Func("product")
            packed[j, column, i, outer] = right(i, column, outer * panel + j)
            packed.compute_root().vectorize(j, lanes, hl.TailStrategy.ShiftInwards)

            def term(i: hl.Expr, left: _Read = left, packed: hl.Func = packed) -> hl.Expr:
                return left(i, t, b) * packed[j % panel, column, i, j // panel]

            zero = hl.cast(type_of(left(0, 0, 0)), 0)
            totals.append(sums.total("products", (j, column, t, b), zero, term, depth, depth <= sums.FEW))
            computed[place][j, column, t, b] = totals[-1].value
    values = step(computed, j, t, b)
    found[j, t, b] = hl.Tuple(list(values)) if count > 1 else values[0]
    at = [found[j, t, b][place] for place in range(count)] if count > 1 else [found[j, t, b]]
    out[j, block, b, t] = hl.mux(block, at) if count > 1 else at[0]
    out.bound(block, 0, count).split(j, outer, j, wide, hl.TailStrategy.ShiftInwards)
    out.vectorize(j, lanes).unroll(j).unroll(block)
    for stage, rows in ((out.specialize(batch >= height), height), (out, 1)):
        stage.split(b, tile, b, rows, hl.TailStrategy.ShiftInwards)
        stage.split(tile, task, tile, (share + rows - 1) // rows, hl.TailStrategy.GuardWithIf)
        stage.reorder(j, block, b, tile, outer, t, task).parallel(task)
    found.compute_at(out, b).vectorize(j, lanes).unroll(j)
    for total in totals:
        total.schedule(
            out, tile, (j, column, b), lambda stage: stage.vectorize(j, lanes).unroll(j).unroll(column).unroll(b)
        )
    return out
