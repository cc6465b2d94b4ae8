"""Layers of sequences in ONNX: recurrent cells, attention, positions."""

# Rows are functions of what they write and read.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownLambdaType=false

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import numpy as np

from typednn import layers
from typednn.backends import to_numpy
from typednn.exchange.onnx.layers.features import affine
from typednn.exchange.onnx.layers.row import Row
from typednn.exchange.onnx.network_operators import BLOCKS, blocks, cell_of
from typednn.exchange.onnx.values import Value, Values
from typednn.exchange.onnx.writer import INT32, INT64, Out, Writer
from typednn.exchange.tracing import Traced
from typednn.kernels.positions import add_sines, rotate

# ------------------------------------------------------------------ recurrent cells


def _recurrent(make: Any, kind: str, settings: Callable[[Any], dict[str, Any]] = lambda layer: {}) -> Row:
    """A recurrent layer; ``settings`` are those of its node that are not ONNX's own."""

    def turned(array: Any) -> Any:
        """The blocks of a parameter in ONNX's order."""
        parts: Any = np.split(array, len(BLOCKS[kind]))
        return np.concatenate([parts[place] for place in np.argsort(BLOCKS[kind])])[None]

    def write(file: Writer, layer: Any, x: Traced, lengths: Any = None) -> Out:
        weights = [file.constant(array, turned, "blocks") for array in (layer.weight_ih, layer.weight_hh)]
        biases = ""
        if layer.bias_ih is not None:
            biases = file.constant(np.concatenate([turned(layer.bias_ih), turned(layer.bias_hh)], axis=1), learnt=True)
        more = [biases] if lengths is None else [biases, file.node("Cast", file.read(lengths), to=INT32)]
        steps = file.node("Transpose", file.read(x), perm=[1, 0, 2])
        y = file.node(kind, steps, *weights, *more, hidden_size=layer.hidden_size, **settings(layer))
        return Out(file.node("Transpose", file.node("Squeeze", y, file.integers(1)), perm=[1, 0, 2]))

    def read(file: Values, name: str, weight: str, recurrence: str, *more: str | None) -> Value:
        x = file.value(name, moved=True)
        bias, lengths, *states = (*more, None, None)[: max(2, len(more))]
        file.require(x.order == (1, 0, 2) and file.option("direction", "forward") == "forward" and lengths is None)
        file.call.read |= {"hidden_size", "activation_alpha", "activation_beta"}  # the last two of other activations
        file.require(not any(file.constant(state).any() for state in states if state is not None))
        cell, arrays = cell_of(file.call, 1), [file.constant(weight)[0], file.constant(recurrence)[0]]
        arrays += [] if bias is None else np.split(file.constant(bias)[0], 2)
        ours = [blocks(kind, each, np.split, np.concatenate) for each in arrays]
        options: dict[str, Any] = {"nonlinearity": cell} if kind == "RNN" else {}
        made = make(ours[0].shape[1], ours[1].shape[1], bias=bias is not None, **options)
        return file.layer(x, made, (1, -1, 0, 2), **dict(zip(_TORCH, ours, strict=False)))

    return Row(write, {kind: read}, _TORCH)


_TORCH: Final = {name: f"{name}_l0" for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}


def _activations(layer: Any) -> dict[str, Any]:
    return {"activations": [{"tanh": "Tanh", "relu": "Relu"}[layer.nonlinearity]]}


def _write_last_step(file: Writer, layer: Any, x: Traced, lengths: Any = None) -> Out:
    if lengths is None:
        return Out(file.node("Gather", file.read(x), file.constant(np.array(x.shape[1] - 1)), axis=1))
    last = file.node("Sub", file.node("Cast", file.read(lengths), to=INT64), file.constant(np.array(1)))
    return Out(file.node("GatherND", file.read(x), file.node("Unsqueeze", last, file.integers(1)), batch_dims=1))


# ------------------------------------------------------------------ attention


def _write_attention(file: Writer, layer: Any, x: Traced, memory: Any = None, mask: Any = None) -> Out:
    read = x if memory is None else memory
    size, heads = layer.embed_dim, layer.num_heads
    features = size // heads
    apart = layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight
    weights = apart if layer.in_proj_weight is None else np.split(to_numpy(layer.in_proj_weight), 3)
    biases = (None,) * 3 if layer.in_proj_bias is None else np.split(to_numpy(layer.in_proj_bias), 3)
    projected: list[str] = []
    for given, weight, bias in zip((x, read, read), weights, biases, strict=True):
        by_head = file.reshaped(affine(file, file.read(given), weight, bias), given.shape[1], heads, features)
        if layer.rotary and len(projected) < 2:
            by_head = _rotated(file, by_head, given, features)
        projected.append(by_head)
    orders = [0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]
    q, k, v = (file.node("Transpose", each, perm=order) for each, order in zip(projected, orders, strict=True))
    scores = file.node("Mul", file.node("MatMul", q, k), file.number(features**-0.5, x))
    nothing = file.number(-1e30, x)
    earlier = np.arange(read.shape[1]) <= np.arange(x.shape[1])[:, None]
    if layer.causal:
        scores = file.node("Where", file.constant(earlier), scores, nothing)
    attended = ""
    if mask is not None:
        axes = (1, 2) if mask.ndim == 2 else (1,)
        attended = file.node("Unsqueeze", file.read(mask), file.integers(*axes))
        scores = file.node("Where", attended, scores, nothing)
    shares = file.node("Softmax", scores, axis=-1)
    if mask is not None:  # what attends to nothing gives 0
        shares = file.node("Where", attended, shares, file.number(0.0, x))
        if layer.causal:
            shares = file.node("Where", file.constant(earlier), shares, file.number(0.0, x))
    mixed = file.reshaped(file.node("Transpose", file.node("MatMul", shares, v), perm=[0, 2, 1, 3]), x.shape[1], size)
    return Out(affine(file, mixed, layer.out_proj_weight, layer.out_proj_bias))


def _rotated(file: Writer, x: str, like: Traced, features: int) -> str:
    """Each pair of features turned by the angle of its position: x·cos + (-odd, even)·sin."""
    ones = np.zeros((1, like.shape[1], 1, features), like.dtype)
    ones[..., 0::2] = 1
    turned = rotate(ones)[0]  # cos and sin of each pair
    cos, sin = (np.repeat(turned[..., place::2], 2, axis=-1) for place in (0, 1))
    swap = np.zeros((features, features), like.dtype)
    for pair in range(0, features, 2):
        swap[pair + 1, pair], swap[pair, pair + 1] = -1, 1
    other = file.node("Mul", file.node("MatMul", x, file.constant(swap)), file.constant(sin))
    rotated: str = file.node("Add", file.node("Mul", x, file.constant(cos)), other)
    return rotated


# ------------------------------------------------------------------ positions


def _write_learned(file: Writer, layer: Any, x: Traced) -> Out:
    time = x.shape[1]
    return Out(file.node("Add", file.read(x), file.constant(layer.weight, lambda weight: weight[:time], time)))


def _write_sines(file: Writer, layer: Any, x: Traced) -> Out:
    sines = add_sines(cast("Any", np.zeros((1, *x.shape[1:]), x.dtype)))[0]
    return Out(file.node("Add", file.read(x), file.constant(sines)))


ROWS: Final[Mapping[type, Row]] = {
    layers.GRU: _recurrent(layers.GRU, "GRU", lambda layer: {"linear_before_reset": 1}),
    layers.LSTM: _recurrent(layers.LSTM, "LSTM"),
    layers.LastStep: Row(_write_last_step),
    layers.LearnedPositions: Row(_write_learned),
    layers.MultiHeadAttention: Row(
        _write_attention,
        torch={"out_proj_weight": "out_proj.weight", "out_proj_bias": "out_proj.bias", "seed": None},
    ),
    layers.RNN: _recurrent(layers.RNN, "RNN", _activations),
    layers.SinusoidalPositions: Row(_write_sines),
}
