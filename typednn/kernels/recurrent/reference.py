"""Recurrent layers: a cell applied along time, and its derivative backward through time.

a_t = x_t weight_ihᵀ + bias_ih    z_t = h_(t-1) weight_hhᵀ + bias_hh    kept_t = cell(a_t, z_t, kept_(t-1))    y_t = h_t

dh_t = dy_t + dz_(t+1) weight_hh + what is carried     da_t, dz_t from dh_t and kept     dx_t = da_t weight_ih
dweight_ih = Σ_t da_tᵀ x_t     dweight_hh = Σ_t dz_tᵀ h_(t-1)     dbias_ih = Σ da_t     dbias_hh = Σ dz_t

x (batch, time, in)    y (batch, time, hidden)    weight_ih (gates·hidden, in)    weight_hh (gates·hidden, hidden)
biases (gates·hidden)
kept (time + 1, batch, keeps·hidden): zeros, the state before the first step, then a row for each step; its last block
is h. A step's numbers are adjacent. lengths (batch): at positions from a sequence's length on, x counts as 0, and what
is kept, y and dy as well. 2·batch·time·gates·hidden·(in + hidden) flops forward, twice that backward. `cells` has the
formulas of the cells.
"""

from collections.abc import Sequence
from typing import Any

from jaxtyping import Float, Integer

from typednn.arrays import Array1, Array2, Array3, IntArray1, namespace
from typednn.kernels import sums
from typednn.kernels.recurrent import cells
from typednn.kernels.recurrent.cells import GATES, KEEPS, Cell


def step(
    x: Float[Array2, "batch in_features"],
    weight_ih: Float[Array2, "gates in_features"],
    weight_hh: Float[Array2, "gates hidden"],
    bias_ih: Float[Array1, " gates"] | None,
    bias_hh: Float[Array1, " gates"] | None,
    hidden: Float[Array2, "batch hidden"] | None,
    memory: Float[Array2, "batch hidden"] | None,
    cell: Cell,
) -> tuple[Float[Array2, "batch hidden"], Any]:
    """h and an LSTM's c, else None, after one more position x (batch, in); ``hidden`` and ``memory`` are those before,
    or None: zeros.
    """
    zeros = namespace(x).zeros((x.shape[0], weight_hh.shape[1]), dtype=x.dtype)
    before = [zeros if state is None else state for state in (memory, hidden)]
    kept = _step(x, weight_ih, weight_hh, bias_ih, bias_hh, before, cell)
    return kept[-1], kept[-2] if cell == "lstm" else None


def forward(
    x: Float[Array3, "batch time in_features"],
    weight_ih: Float[Array2, "gates in_features"],
    weight_hh: Float[Array2, "gates hidden"],
    bias_ih: Float[Array1, " gates"] | None,
    bias_hh: Float[Array1, " gates"] | None,
    lengths: Integer[IntArray1, " batch"] | None,
    cell: Cell,
) -> tuple[Float[Array3, "batch time hidden"], Float[Array3, "time+1 batch kept"]]:
    """y and kept."""
    xp, hidden = namespace(x), weight_hh.shape[1]
    zeros = xp.zeros((x.shape[0], hidden), dtype=x.dtype)
    steps = [(zeros,) * KEEPS[cell]]
    for row in time_major(x, lengths):
        steps.append(_step(row, weight_ih, weight_hh, bias_ih, bias_hh, steps[-1], cell))
    first, *rows = (xp.concatenate(blocks, axis=1) for blocks in steps)
    kept = xp.concatenate([first[None], where_valid(xp.stack(rows), lengths)])
    states: Float[Array3, "time batch hidden"] = kept[1:, :, -hidden:]
    return batch_major(states), kept


def backward(
    next_grad: Float[Array3, "batch time hidden"],
    x: Float[Array3, "batch time in_features"],
    weight_ih: Float[Array2, "gates in_features"],
    weight_hh: Float[Array2, "gates hidden"],
    kept: Float[Array3, "time+1 batch kept"],
    lengths: Integer[IntArray1, " batch"] | None,
    cell: Cell,
) -> tuple[
    Float[Array3, "batch time in_features"],
    Float[Array2, "gates in_features"],
    Float[Array2, "gates hidden"],
    Float[Array1, " gates"],
    Float[Array1, " gates"],
]:
    """(dx, dweight_ih, dweight_hh, dbias_ih, dbias_hh)."""
    xp, hidden = namespace(x), weight_hh.shape[1]
    rows, dy = time_major(x, lengths), time_major(next_grad, lengths)
    dhidden = carried = xp.zeros_like(dy[0])
    steps: list[tuple[Any, Any]] = []
    for t in reversed(range(x.shape[1])):
        before, after = blocks(kept[t], KEEPS[cell]), blocks(kept[t + 1], KEEPS[cell])
        da_blocks, dz_blocks, carried = cells.backward(cell, xp, dy[t] + dhidden, carried, after, before)
        steps.append((xp.concatenate(da_blocks, axis=1), xp.concatenate(dz_blocks, axis=1)))
        dhidden = steps[-1][1] @ weight_hh
    da: Float[Array2, "time*batch gates"] = xp.concatenate([each for each, _ in reversed(steps)])
    dz: Float[Array2, "time*batch gates"] = xp.concatenate([each for _, each in reversed(steps)])
    dx = batch_major((da @ weight_ih).reshape(rows.shape))
    states: Float[Array3, "time batch hidden"] = kept[:-1, :, -hidden:]
    return dx, da.T @ flat(rows), dz.T @ flat(states), sums.over(da, 0), sums.over(dz, 0)


def _step(
    x: Float[Array2, "batch in_features"],
    weight_ih: Float[Array2, "gates in_features"],
    weight_hh: Float[Array2, "gates hidden"],
    bias_ih: Float[Array1, " gates"] | None,
    bias_hh: Float[Array1, " gates"] | None,
    before: Sequence[Any],
    cell: Cell,
) -> tuple[Any, ...]:
    state: Float[Array2, "batch hidden"] = before[-1]
    a, z = _affine(x, weight_ih, bias_ih), _affine(state, weight_hh, bias_hh)
    return cells.forward(cell, namespace(x), blocks(a, GATES[cell]), blocks(z, GATES[cell]), before)


def _affine(
    x: Float[Array2, "batch in_features"],
    weight: Float[Array2, "gates in_features"],
    bias: Float[Array1, " gates"] | None,
) -> Float[Array2, "batch gates"]:
    """x weightᵀ + bias."""
    product: Array2 = x @ weight.T
    return product if bias is None else product + bias


def blocks(rows: Any, count: int) -> list[Any]:
    """The columns of (batch, count·hidden) as ``count`` arrays."""
    size = rows.shape[1] // count
    return [rows[:, place * size : (place + 1) * size] for place in range(count)]


def time_major(
    x: Float[Array3, "batch time features"], lengths: Integer[IntArray1, " batch"] | None
) -> Float[Array3, "time batch features"]:
    """(batch, time, …) as (time, batch, …), adjacent, with zeros from the lengths on."""
    moved: Float[Array3, "time batch features"] = namespace(x).ascontiguousarray(x.transpose(1, 0, 2))
    return where_valid(moved, lengths)


def batch_major(x: Float[Array3, "time batch features"]) -> Float[Array3, "batch time features"]:
    """(time, batch, …) as (batch, time, …), adjacent."""
    moved: Array3 = namespace(x).ascontiguousarray(x.transpose(1, 0, 2))
    return moved


def where_valid(
    x: Float[Array3, "time batch features"], lengths: Integer[IntArray1, " batch"] | None
) -> Float[Array3, "time batch features"]:
    """Time-major numbers, with zeros from the lengths on."""
    if lengths is None:
        return x
    xp = namespace(x)
    valid: Array3 = xp.where((xp.arange(x.shape[0])[:, None] < lengths)[:, :, None], x, 0)
    return valid


def flat(x: Float[Array3, "time batch features"]) -> Float[Array2, "time*batch features"]:
    """Every step of every sequence as a row."""
    return x.reshape(-1, x.shape[-1])
