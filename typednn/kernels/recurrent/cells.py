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
kept of the step before, zeros before the first, and keeps as many. The formulas are written once, of arrays and of
Halide's expressions: `Functions` tells them apart.
Sources: Elman 1990, "Finding Structure in Time"; Cho et al. 2014, "Learning Phrase Representations using RNN
Encoder-Decoder", with the reset gate where cuDNN has it; Hochreiter and Schmidhuber 1997, "Long Short-Term Memory",
with the forget gate of Gers et al. 2000.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from typednn.kernels.activations import RELU, Activation

Cell: TypeAlias = Literal["tanh", "relu", "gru", "lstm"]
GATES: Final[dict[Cell, int]] = {"tanh": 1, "relu": 1, "gru": 3, "lstm": 4}
KEEPS: Final[dict[Cell, int]] = {"tanh": 1, "relu": 1, "gru": 5, "lstm": 6}
SIGMOID, TANH = Activation("sigmoid"), Activation("tanh")


class Functions(NamedTuple):
    """The activations: y at z, and dz from dy and y."""

    apply: Callable[[Activation, Any], Any]
    derive: Callable[[Activation, Any, Any], Any]


ARRAYS: Final = Functions(Activation.forward, Activation.backward)


def expressions(hl: Any) -> Functions:
    """The activations of Halide's expressions."""

    def apply(activation: Activation, z: Any) -> Any:
        return activation.expression(hl, z)

    def derive(activation: Activation, dy: Any, y: Any) -> Any:
        return activation.gradient_expression(hl, dy, y)

    return Functions(apply, derive)


def forward(
    cell: Cell, functions: Functions, a: Sequence[Any], z: Sequence[Any], before: Sequence[Any]
) -> tuple[Any, ...]:
    """What is kept of a step, h' last, from the blocks of a, of z, and of what was kept before."""
    apply = functions.apply
    if cell == "gru":
        r, u = apply(SIGMOID, a[0] + z[0]), apply(SIGMOID, a[1] + z[1])
        n = apply(TANH, a[2] + r * z[2])
        return r, u, n, z[2], (1 - u) * n + u * before[-1]
    if cell == "lstm":
        i, f, g, o = (apply(gate, a + z) for gate, a, z in zip((SIGMOID, SIGMOID, TANH, SIGMOID), a, z, strict=True))
        c = f * before[-2] + i * g
        return i, f, g, o, c, o * apply(TANH, c)
    return (apply(RELU if cell == "relu" else TANH, a[0] + z[0]),)


def backward(
    cell: Cell, functions: Functions, dhidden: Any, carried: Any, kept: Sequence[Any], before: Sequence[Any]
) -> tuple[tuple[Any, ...], tuple[Any, ...], Any]:
    """The blocks of da and of dz, and what is carried to the step before.

    ``dhidden`` is dh' but for what is carried: by a GRU dh past the gates, by an LSTM dc, by others nothing (None).
    """
    derive = functions.derive
    if cell == "gru":
        r, u, n, z_n, _ = kept
        dhidden = dhidden + carried
        dn = derive(TANH, dhidden * (1 - u), n)
        dr, du = derive(SIGMOID, dn * z_n, r), derive(SIGMOID, dhidden * (before[-1] - n), u)
        return (dr, du, dn), (dr, du, dn * r), dhidden * u
    if cell == "lstm":
        i, f, g, o, c, _ = kept
        squashed = functions.apply(TANH, c)
        dc = carried + derive(TANH, dhidden * o, squashed)
        di, df = derive(SIGMOID, dc * g, i), derive(SIGMOID, dc * before[-2], f)
        blocks = di, df, derive(TANH, dc * i, g), derive(SIGMOID, dhidden * squashed, o)
        return blocks, blocks, dc * f
    block = derive(RELU if cell == "relu" else TANH, dhidden, kept[0])
    return (block,), (block,), None
