"""Recurrent layers for NumPy's arrays: a kernel for what needs the step before, and products over all steps for the
rest.

dx and the weights' derivatives need no step before another: each is one product over all steps. In a step remain the
product with weight_hh and what the cell does. Up to `SMALL` one kernel does both, for all steps (`schedules`), and
multiplies x too: then a is never stored. Beyond it OpenBLAS multiplies in each step, and the kernel does the rest of
one step.
"""

from typing import Any

import numpy as np

from typednn.arrays import Array2, Array3, IntArray1
from typednn.engines import Array, Kernel, Scalar, empty, gemm, get_threads, kernel, specialised
from typednn.engines.dispatch import FLOAT32
from typednn.kernels.recurrent import schedules
from typednn.kernels.recurrent.cells import GATES, KEEPS, Cell
from typednn.kernels.recurrent.reference import batch_major, flat, time_major, where_valid
from typednn.kernels.recurrent.schedules import PARALLEL, SMALL, writes

ROWS = 32  # at most so many sequences at a time, so that their states stay in a core's first cache
FEW = 8  # sequences below which weight_ih is read less often by one product over all steps


def plan(
    x: Array3, weight_ih: Array2, weight_hh: Array2, bias_ih: Any, bias_hh: Any, lengths: IntArray1 | None, cell: Cell
) -> Kernel | None:
    """The kernel of `forward`'s steps."""
    return _forward[_multiplied(x, weight_hh), weight_hh.shape[1], bias_ih is not None, cell, x.dtype]


def plan_backward(
    next_grad: Array3,
    x: Array3,
    weight_ih: Array2,
    weight_hh: Array2,
    kept: Array3,
    lengths: IntArray1 | None,
    cell: Cell,
) -> tuple[Kernel, Kernel] | None:
    """The kernels of `backward`'s steps, and of what follows them."""
    return _backward[_multiplied(x, weight_hh), weight_hh.shape[1], cell, x.dtype]


def forward(
    planned: Kernel,
    x: Array3,
    weight_ih: Array2,
    weight_hh: Array2,
    bias_ih: Any,
    bias_hh: Any,
    lengths: IntArray1 | None,
    cell: Cell,
) -> tuple[Array3, Array3]:
    """y and kept."""
    (batch, time, _), dtype = x.shape, x.dtype
    hidden, gates, keeps = weight_hh.shape[1], GATES[cell], KEEPS[cell]
    kept = empty((time + 1, batch, keeps, hidden), dtype)
    kept[0] = 0
    biases = () if bias_ih is None else (bias_ih.reshape(gates, hidden), bias_hh.reshape(gates, hidden))
    if _multiplied(x, weight_hh):
        planned.call(x, weight_hh, kept[:-1], _share(batch, time * weight_hh.size), weight_ih, *biases, kept[1:])
    else:
        rows = x if hidden <= SMALL else time_major(x, None)
        a = empty((*rows.shape[:2], gates, hidden), dtype)
        gemm(flat(rows), weight_ih, a.reshape(time * batch, -1), transpose_b=True)
        if hidden <= SMALL:
            planned.call(a, weight_hh, kept[:-1], _share(batch, time * weight_hh.size), *biases, kept[1:])
        else:
            z, share = empty((batch, 1, gates, hidden), dtype), _share(batch, weight_hh.size)
            for t in range(time):
                gemm(kept[t, :, -1], weight_hh, z.reshape(batch, -1), transpose_b=True)
                planned.call(a[t][:, None], z, kept[t : t + 1], share, *biases, kept[t + 1 : t + 2])
    if lengths is not None:
        kept[1:][np.arange(time)[:, None] >= lengths] = 0
    return batch_major(kept[1:, :, -1]), kept.reshape(time + 1, batch, -1)


def backward(
    planned: tuple[Kernel, Kernel],
    next_grad: Array3,
    x: Array3,
    weight_ih: Array2,
    weight_hh: Array2,
    kept: Array3,
    lengths: IntArray1 | None,
    cell: Cell,
) -> tuple[Array3, Array2, Array2, Any, Any]:
    """(dx, dweight_ih, dweight_hh, dbias_ih, dbias_hh). The gradients of steps lie in the order in which they are
    found, the last first.
    """
    (batch, time, inputs), dtype = x.shape, x.dtype
    (rows, hidden), blocks, (steps, after) = weight_hh.shape, writes(cell), planned
    first = rows if cell == "gru" else 0  # the column of dz
    gradients = empty((time + 1, batch, blocks * hidden), dtype)
    gradients[0] = 0
    written, states = gradients.reshape(time + 1, batch, blocks, hidden), kept.reshape(time + 1, batch, -1, hidden)
    dy = next_grad if lengths is None else batch_major(time_major(next_grad, lengths))
    if hidden <= SMALL:
        steps.call(
            dy, weight_hh, gradients[:-1], states[1:], states[:-1], _share(batch, time * weight_hh.size), written[1:]
        )
    else:
        dhidden, share = empty((batch, 1, 1, hidden), dtype), _share(batch, weight_hh.size)
        for s, t in enumerate(reversed(range(time))):
            gemm(gradients[s, :, first : first + rows], weight_hh, dhidden[:, 0, 0])
            dy_t, before = np.ascontiguousarray(dy[:, t : t + 1]), states[t : t + 1]
            steps.call(
                dy_t, dhidden, gradients[s : s + 1], states[t + 1 : t + 2], before, share, written[s + 1 : s + 2]
            )
    found, dx, dbias = flat(gradients[1:]), empty((time, batch, inputs), dtype), empty((blocks * hidden,), dtype)
    da, dz = found[:, :rows], found[:, first : first + rows]
    if _multiplied(x, weight_hh):
        after.call(found, weight_ih, flat(dx), dbias)
    else:
        after.call(found, dbias)
        gemm(da, weight_ih, flat(dx))
    read = empty((time, batch, inputs + hidden), dtype)
    read[:, :, :inputs], read[:, :, inputs:] = where_valid(x.transpose(1, 0, 2), lengths)[::-1], states[-2::-1, :, -1]
    dweights = empty((rows, inputs + hidden), dtype)
    if cell == "gru":
        gemm(da, flat(read)[:, :inputs], dweights[:, :inputs], transpose_a=True)
        gemm(dz, flat(read)[:, inputs:], dweights[:, inputs:], transpose_a=True)
    else:
        gemm(da, flat(read), dweights, transpose_a=True)
    dweight_ih, dweight_hh = (np.ascontiguousarray(each) for each in (dweights[:, :inputs], dweights[:, inputs:]))
    return batch_major(dx[::-1]), dweight_ih, dweight_hh, dbias[:rows].copy(), dbias[first : first + rows].copy()


def _multiplied(x: Array3, weight_hh: Array2) -> int:
    """The size of x if a kernel multiplies it, else 0."""
    (batch, _, inputs), hidden = x.shape, weight_hh.shape[1]
    return inputs if batch >= FEW and max(inputs, hidden) <= SMALL else 0


def _share(batch: int, multiplications: int) -> int:
    """How many sequences a thread takes at a time, where each costs so many ``multiplications``."""
    threads = get_threads() if batch * multiplications >= PARALLEL else 1
    return min(ROWS, -(-batch // threads))


@specialised("recurrent")
def _forward(inputs: int, hidden: int, biased: bool, cell: Cell, dtype: Any = FLOAT32) -> Kernel:
    gates, kept = GATES[cell], Array("time", "batch", KEEPS[cell], hidden)
    products, parameters = (
        Array("batch", "time", gates, hidden),
        (Array(gates, hidden, parameter=True),) * 2 if biased else (),
    )
    x, other = products, products if hidden > SMALL else Array(gates * hidden, hidden, parameter=True)
    if inputs:
        x, parameters = Array("batch", "time", inputs), (Array(gates * hidden, inputs, parameter=True), *parameters)
    arguments, options = (
        (x, other, kept, Scalar("int32"), *parameters),
        {"inputs": inputs, "cell": cell, "hidden": hidden},
    )
    return kernel(
        "recurrent.forward", schedules.forward, inputs=arguments, outputs=(kept,), options=options, dtype=dtype
    )


@specialised("recurrent")
def _backward(inputs: int, hidden: int, cell: Cell, dtype: Any = FLOAT32) -> tuple[Kernel, Kernel]:
    kept, written = (Array("time", "batch", blocks, hidden) for blocks in (KEEPS[cell], writes(cell)))
    rows, columns = GATES[cell] * hidden, writes(cell) * hidden
    other = Array("batch", "time", 1, hidden) if hidden > SMALL else Array(rows, hidden, parameter=True)
    arguments = (Array("batch", "time", hidden), other, Array("time", "batch", columns), kept, kept, Scalar("int32"))
    options: dict[str, Any] = {"cell": cell, "hidden": hidden}
    steps = kernel(
        "recurrent.backward", schedules.backward, inputs=arguments, outputs=(written,), options=options, dtype=dtype
    )
    weight, dx = ((Array(rows, inputs, parameter=True),), (Array("rows", inputs),)) if inputs else ((), ())
    found, outputs, options = (
        Array("rows", columns),
        (*dx, Array(columns)),
        {"inputs": inputs, "rows": rows, "columns": columns},
    )
    return steps, kernel(
        "recurrent.after", schedules.after, inputs=(found, *weight), outputs=outputs, options=options, dtype=dtype
    )
