"""Layers that work number by number, and softmax, in ONNX."""

# Rows are functions of what they write and read.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from typednn import layers
from typednn.exchange.onnx.layers.row import Read, Row, Write
from typednn.exchange.onnx.values import Value, Values
from typednn.exchange.onnx.writer import Out, Writer
from typednn.exchange.tracing import Traced


def _written(operator: str, settings: Mapping[str, str] | None = None, **attributes: Any) -> Write:
    """One node, with settings of the layer as attributes."""

    def write(file: Writer, layer: Any, x: Traced) -> Out:
        name, first = file.at_hand(x)
        given = {attribute: float(getattr(layer, own)) for attribute, own in (settings or {}).items()}
        return Out(file.node(operator, name, **given, **attributes), first)

    return write


def _read(make: Any, **defaults: Any) -> Read:
    """A layer whose arguments are the node's attributes."""

    def read(file: Values, name: str) -> Value:
        x = file.value(name, moved=True)
        return file.alike(x, make(*(file.option(attribute, default) for attribute, default in defaults.items())))

    return read


def _alike(make: Any, operator: str, **attributes: tuple[str, float]) -> Row:
    """A layer that is one operator, both ways; each attribute has the name of a setting, and ONNX's default."""
    settings = {attribute: own for attribute, (own, _) in attributes.items()}
    defaults = {attribute: default for attribute, (_, default) in attributes.items()}
    return Row(_written(operator, settings), {operator: _read(make, **defaults)})


def _softmax(make: Any, operator: str) -> Row:
    def read(file: Values, name: str) -> Value:
        x = file.value(name)
        file.require(len(x.shape) == 1 and x.features is None and file.option("axis", -1) in (-1, 1))
        return file.layer(x, make())

    return Row(_written(operator, axis=-1), {operator: read})


# The attributes of ONNX's HardSigmoid that PyTorch's is, and ONNX's defaults.
_HARD: Final = {"alpha": 1 / 6, "beta": 0.5}


def _read_hard_sigmoid(file: Values, name: str) -> Value:
    file.require(abs(file.option("alpha", 0.2) - _HARD["alpha"]) <= 1e-6 and file.option("beta", 0.5) == _HARD["beta"])
    return file.alike(file.value(name), layers.Hardsigmoid())


def _write_gelu(file: Writer, layer: Any, x: Traced) -> Out:
    name, first = file.at_hand(x)
    if layer.approximate == "tanh":
        cube = file.node("Mul", file.node("Mul", name, name), name)
        inner = file.node("Add", name, file.node("Mul", cube, file.number(0.044715, x)))
        bent = file.node("Tanh", file.node("Mul", inner, file.number(math.sqrt(2 / math.pi), x)))
    else:
        bent = file.node("Erf", file.node("Mul", name, file.number(math.sqrt(0.5), x)))
    half = file.node("Mul", name, file.number(0.5, x))
    return Out(file.node("Mul", half, file.node("Add", bent, file.number(1.0, x))), first)


def _write_silu(file: Writer, layer: Any, x: Traced) -> Out:
    name, first = file.at_hand(x)
    return Out(file.node("Mul", name, file.node("Sigmoid", name)), first)


def _read_silu(file: Values, left: str, right: str) -> Value:
    """x·sigmoid(x) is a SiLU."""
    pair = file.values[left], file.values[right]
    x, *_ = [x for x, gate in (pair, pair[::-1]) if isinstance(gate.layer, layers.Sigmoid) and gate.before is x]
    return file.alike(x, layers.SiLU())


def _write_softplus(file: Writer, layer: Any, x: Traced) -> Out:
    name, first = file.at_hand(x)
    scaled = file.node("Mul", name, file.number(layer.beta, x))
    straight = file.node("Greater", scaled, file.number(layer.threshold, x))
    # Where it is straight the exponential may overflow: it gets a 0 there.
    bent = file.node("Softplus", file.node("Where", straight, file.number(0.0, x), scaled))
    return Out(file.node("Where", straight, name, file.node("Div", bent, file.number(layer.beta, x))), first)


def _write_prelu(file: Writer, layer: Any, x: Traced) -> Out:
    name, first = file.at_hand(x)
    return Out(file.node("PRelu", name, file.constant(layer.slope)), first)


def _read_prelu(file: Values, name: str, slope: str) -> Value:
    x, array = file.value(name), file.constant(slope)
    file.require(array.size == 1 and array.ndim <= x.rank)
    return file.alike(x, layers.PReLU(), slope=array.reshape(1))


def _write_glu(file: Writer, layer: Any, x: Traced) -> Out:
    half = x.shape[-1] // 2
    value, gate = file.node("Split", file.read(x), file.integers(half, half), outputs=2, axis=x.ndim - 1)
    return Out(file.node("Mul", value, file.node("Sigmoid", gate)))


def _read_dropout(file: Values, name: str, ratio: str | None = None, mode: str | None = None) -> Value:
    file.option("seed")
    p = file.option("ratio", 0.5) if ratio is None else float(file.constant(ratio))
    file.require(mode is None or not file.constant(mode).any())
    return file.alike(file.value(name, moved=True), layers.Dropout(p))


def nothing(file: Writer, layer: Any, x: Traced) -> Traced:
    """What a layer is that does nothing in eval."""
    return x


ROWS: Final[Mapping[type, Row]] = {
    layers.Dropout: Row(nothing, {"Dropout": _read_dropout}, {"seed": None}),
    layers.Dropout2d: Row(nothing, torch={"seed": None}),
    layers.ELU: _alike(layers.ELU, "Elu", alpha=("alpha", 1.0)),
    layers.GELU: Row(_write_gelu, {"Gelu": _read(layers.GELU, approximate="none")}),
    layers.GLU: Row(_write_glu),
    layers.Hardsigmoid: Row(_written("HardSigmoid", None, **_HARD), {"HardSigmoid": _read_hard_sigmoid}),
    layers.Hardswish: _alike(layers.Hardswish, "HardSwish"),
    layers.LeakyReLU: _alike(layers.LeakyReLU, "LeakyRelu", alpha=("negative_slope", 0.01)),
    layers.LogSoftmax: _softmax(layers.LogSoftmax, "LogSoftmax"),
    layers.PReLU: Row(_write_prelu, {"PRelu": _read_prelu}, {"slope": "weight"}),
    layers.ReLU: _alike(layers.ReLU, "Relu"),
    layers.SELU: _alike(layers.SELU, "Selu"),
    layers.SiLU: Row(_write_silu, {"Mul": _read_silu}),
    layers.Sigmoid: _alike(layers.Sigmoid, "Sigmoid"),
    layers.Softmax: _softmax(layers.Softmax, "Softmax"),
    layers.Softplus: Row(_write_softplus, {"Softplus": _read(layers.Softplus)}),
    layers.Tanh: _alike(layers.Tanh, "Tanh"),
}
