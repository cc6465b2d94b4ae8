"""Recurrent layers: a cell applied along time, and its derivative backward through time.

a_t = x_t weight_ihᵀ + bias_ih     z_t = h_(t-1) weight_hhᵀ + bias_hh     kept_t = cell(a_t, z_t, kept_(t-1))     y_t = h_t

dh_t = dy_t + dz_(t+1) weight_hh + what is carried     da_t, dz_t from dh_t and kept     dx_t = da_t weight_ih
dweight_ih = Σ_t da_tᵀ x_t     dweight_hh = Σ_t dz_tᵀ h_(t-1)     dbias_ih = Σ da_t     dbias_hh = Σ dz_t

x (batch, time, in)   y (batch, time, hidden)   weight_ih (gates·hidden, in)   weight_hh (gates·hidden, hidden)   biases (gates·hidden)
kept (time + 1, batch, keeps·hidden): zeros, the state before the first step, then a row for each step; its last block is h. A step's
numbers are adjacent. lengths (batch): at positions from a sequence's length on, x counts as 0, and what is kept, y and dy as well.
2·batch·time·gates·hidden·(in + hidden) flops forward, twice that backward. `cells` has the formulas of the cells.
"""

from collections.abc import Sequence
from typing import Any

from typednn.arrays import AnyArray, Array2, Array3, IntArray1, namespace
from typednn.kernels import sums
from typednn.kernels.recurrent import cells
from typednn.kernels.recurrent.cells import ARRAYS, GATES, KEEPS, Cell


def step(
    x: Array2, weight_ih: Array2, weight_hh: Array2, bias_ih: Any, bias_hh: Any, hidden: Any, memory: Any, cell: Cell
) -> tuple[Array2, Any]:
    """h and an LSTM's c, else None, after one more position x (batch, in); ``hidden`` and ``memory`` are those before, or None: zeros."""
    zeros = namespace(x).zeros((x.shape[0], weight_hh.shape[1]), dtype=x.dtype)
    before = [zeros if state is None else state for state in (memory, hidden)]
    kept = _step(x, weight_ih, weight_hh, bias_ih, bias_hh, before, cell)
    return kept[-1], kept[-2] if cell == "lstm" else None


def forward(
    x: Array3, weight_ih: Array2, weight_hh: Array2, bias_ih: Any, bias_hh: Any, lengths: IntArray1 | None, cell: Cell
) -> tuple[Array3, Array3]:
    """y and kept."""
    xp, hidden = namespace(x), weight_hh.shape[1]
    zeros = xp.zeros((x.shape[0], hidden), dtype=x.dtype)
    steps = [(zeros,) * KEEPS[cell]]
    for row in time_major(x, lengths):
        steps.append(_step(row, weight_ih, weight_hh, bias_ih, bias_hh, steps[-1], cell))
    first, *rows = (xp.concatenate(blocks, axis=1) for blocks in steps)
    kept = xp.concatenate([first[None], where_valid(xp.stack(rows), lengths)])
    return batch_major(kept[1:, :, -hidden:]), kept


def backward(
    next_grad: Array3, x: Array3, weight_ih: Array2, weight_hh: Array2, kept: Array3, lengths: IntArray1 | None, cell: Cell
) -> tuple[Array3, Array2, Array2, Any, Any]:
    """(dx, dweight_ih, dweight_hh, dbias_ih, dbias_hh)."""
    xp, hidden = namespace(x), weight_hh.shape[1]
    rows, dy = time_major(x, lengths), time_major(next_grad, lengths)
    dhidden = carried = xp.zeros_like(dy[0])
    steps: list[tuple[Any, Any]] = []
    for t in reversed(range(x.shape[1])):
        before, after = blocks(kept[t], KEEPS[cell]), blocks(kept[t + 1], KEEPS[cell])
        da, dz, carried = cells.backward(cell, ARRAYS, dy[t] + dhidden, carried, after, before)
        steps.append((xp.concatenate(da, axis=1), xp.concatenate(dz, axis=1)))
        dhidden = steps[-1][1] @ weight_hh
    da, dz = (flat(xp.stack(each)) for each in zip(*reversed(steps), strict=True))
    dx = batch_major((da @ weight_ih).reshape(rows.shape))
    return dx, da.T @ flat(rows), dz.T @ flat(kept[:-1, :, -hidden:]), sums.over(da, 0), sums.over(dz, 0)


def _step(x: Any, weight_ih: Any, weight_hh: Any, bias_ih: Any, bias_hh: Any, before: Sequence[Any], cell: Cell) -> tuple[Any, ...]:
    a, z = _affine(x, weight_ih, bias_ih), _affine(before[-1], weight_hh, bias_hh)
    return cells.forward(cell, ARRAYS, blocks(a, GATES[cell]), blocks(z, GATES[cell]), before)


def _affine(x: Any, weight: Any, bias: Any) -> Any:
    """x weightᵀ + bias."""
    product = x @ weight.T
    return product if bias is None else product + bias


def blocks(rows: Any, count: int) -> list[Any]:
    """The columns of (batch, count·hidden) as ``count`` arrays."""
    size = rows.shape[1] // count
    return [rows[:, place * size : (place + 1) * size] for place in range(count)]


def time_major(x: AnyArray, lengths: Any) -> Any:
    """(batch, time, …) as (time, batch, …), adjacent, with zeros from the lengths on."""
    return where_valid(namespace(x).ascontiguousarray(x.transpose(1, 0, 2)), lengths)


def batch_major(x: AnyArray) -> Any:
    """(time, batch, …) as (batch, time, …), adjacent."""
    return namespace(x).ascontiguousarray(x.transpose(1, 0, 2))


def where_valid(x: Any, lengths: Any) -> Any:
    """Time-major numbers, with zeros from the lengths on."""
    if lengths is None:
        return x
    xp = namespace(x)
    return xp.where((xp.arange(x.shape[0])[:, None] < lengths)[:, :, None], x, 0)


def flat(x: Any) -> Any:
    """Every step of every sequence as a row."""
    return x.reshape(-1, x.shape[-1])
