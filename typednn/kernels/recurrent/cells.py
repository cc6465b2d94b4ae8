"""Cells: what a recurrent layer does at one time step, after its matrix products.

a = x W_ihᵀ + b_ih, of the input   z = h W_hhᵀ + b_hh, of the state before: one block of hidden_size numbers for each
                                   gate.

=====  =========================================================================================  ====================
cell   one step                                                                                   keeps
=====  =========================================================================================  ====================
tanh   h' = tanh(a + z)                                                                           h'
relu   h' = max(a + z, 0)                                                                         h'
gru    r = σ(a_r + z_r)   u = σ(a_u + z_u)   n = tanh(a_n + r·z_n)   h' = (1 - u)·n + u·h         r, u, n, z_n, h'
lstm   i, f, o = σ(a + z)   g = tanh(a_g + z_g)   c' = f·c + i·g   h' = o·tanh(c')                i, f, g, o, c', h'
=====  =========================================================================================  ====================

Gates are in PyTorch's order: r, u, n, where u is PyTorch's z, and i, f, g, o. A step is given the numbers that were
kept of the step before, zeros before the first, and keeps as many. The formulas are in the dialect of
`typednn.kernels.expressions`: ``xp`` is of arrays, or of Halide's expressions.
Sources: Elman 1990, "Finding Structure in Time"; Cho et al. 2014, "Learning Phrase Representations using RNN
Encoder-Decoder", with the reset gate where cuDNN has it; Hochreiter and Schmidhuber 1997, "Long Short-Term Memory",
with the forget gate of Gers et al. 2000.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, Literal, TypeAlias

from typednn.kernels.activations import RELU, Activation

Cell: TypeAlias = Literal["tanh", "relu", "gru", "lstm"]
GATES: Final[dict[Cell, int]] = {"tanh": 1, "relu": 1, "gru": 3, "lstm": 4}
KEEPS: Final[dict[Cell, int]] = {"tanh": 1, "relu": 1, "gru": 5, "lstm": 6}
_SIGMOID, _TANH = Activation("sigmoid"), Activation("tanh")


def forward(cell: Cell, xp: Any, a: Sequence[Any], z: Sequence[Any], before: Sequence[Any]) -> tuple[Any, ...]:
    """What is kept of a step, h' last, from the blocks of a, of z, and of what was kept before."""
    sigmoid, tanh = (partial(activation.on_arrays, xp) for activation in (_SIGMOID, _TANH))
    if cell == "gru":
        r, u = sigmoid(a[0] + z[0]), sigmoid(a[1] + z[1])
        n = tanh(a[2] + r * z[2])
        return r, u, n, z[2], (1 - u) * n + u * before[-1]
    if cell == "lstm":
        i, f, g, o = (gate(a + z) for gate, a, z in zip((sigmoid, sigmoid, tanh, sigmoid), a, z, strict=True))
        c = f * before[-2] + i * g
        return i, f, g, o, c, o * tanh(c)
    return ((RELU if cell == "relu" else _TANH).on_arrays(xp, a[0] + z[0]),)


def backward(
    cell: Cell, xp: Any, dhidden: Any, carried: Any, kept: Sequence[Any], before: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
    """The blocks of da and of dz, and what is carried to the step before.

    ``dhidden`` is dh' but for what is carried: by a GRU dh past the gates, by an LSTM dc, by others nothing (None).
    """
    sigmoid, tanh = (partial(activation.derivative_on_arrays, xp) for activation in (_SIGMOID, _TANH))
    if cell == "gru":
        r, u, n, z_n, _ = kept
        dhidden = dhidden + carried
        dn = tanh(dhidden * (1 - u), n)
        dr, du = sigmoid(dn * z_n, r), sigmoid(dhidden * (before[-1] - n), u)
        return (dr, du, dn), (dr, du, dn * r), dhidden * u
    if cell == "lstm":
        i, f, g, o, c, _ = kept
        squashed = _TANH.on_arrays(xp, c)
        dc = carried + tanh(dhidden * o, squashed)
        di, df = sigmoid(dc * g, i), sigmoid(dc * before[-2], f)
        blocks = di, df, tanh(dc * i, g), sigmoid(dhidden * squashed, o)
        return blocks, blocks, dc * f
    block = (RELU if cell == "relu" else _TANH).derivative_on_arrays(xp, dhidden, kept[0])
    return (block,), (block,), None
