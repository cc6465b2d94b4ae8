"""Layers of features in ONNX: what works number by number, products with a weight, tables, normalisations."""

# Rows are functions of what they write and read.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np

from typednn import layers
from typednn.exchange.onnx.layers.row import Read, Row, Write
from typednn.exchange.onnx.values import Value, Values, in_order
from typednn.exchange.onnx.writer import Out, Writer
from typednn.exchange.tracing import Traced

# ------------------------------------------------------------------ number by number


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


# The attributes with which ONNX's HardSigmoid is PyTorch's.
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


def _read_gelu(file: Values, name: str) -> Value:
    return file.alike(file.value(name), layers.GELU(file.option("approximate", "none")))


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


# ------------------------------------------------------------------ products


def _write_linear(file: Writer, layer: Any, x: Traced) -> Out:
    if x.ndim > 2:
        return Out(affine(file, file.read(x), layer.weight, layer.bias))
    biases = file.constants_of(layer.bias)
    return Out(file.node("Gemm", file.read(x), file.constant(layer.weight), *biases, transB=1))


def affine(file: Writer, x: str, weight: Any, bias: Any) -> str:
    """x weightᵀ + bias, of the last axis."""
    y: str = file.node("MatMul", x, file.constant(weight, np.transpose, "transposed", learnt=True))
    return y if bias is None else file.node("Add", y, file.constant(bias, learnt=True))


def _read_gemm(file: Values, name: str, weight: str, bias: str | None = None) -> Value:
    x, array, offset = file.value(name), file.constant(weight), file.maybe(bias)
    alpha, beta = file.option("alpha", 1.0), file.option("beta", 1.0)
    file.require(len(x.shape) == 1 and not file.option("transA", 0))
    array = array if file.option("transB", 0) else array.T
    if offset is not None:
        shape = array.shape[:1] if offset.ndim < 2 else (1, len(array))
        offset = beta * np.broadcast_to(offset, shape).reshape(-1)
    rows, columns = array.shape
    linear: Any = layers.Linear
    return file.affine(x, lambda biased: linear(columns, rows, biased), weight, alpha * x.places(array), offset)


def _read_matmul(file: Values, name: str, weight: str) -> Value:
    x, array = file.value(name), file.constant(weight)
    file.require(array.ndim == 2 and len(x.shape) <= 2 and x.order == in_order(x.rank))
    make: Any = layers.Linear if len(x.shape) == 1 else layers.SequenceLinear
    return file.affine(x, lambda biased: make(*array.shape, bias=biased), weight, x.places(array.T), None)


def read_bias(file: Values, name: str, constant: str) -> Value:
    """A number for each channel, added to what was multiplied by a weight before."""
    x, array = file.value(name), file.constant(constant)
    linear, before, build = (cast("Any", each) for each in (x.layer, x.before, x.build))
    shape = (1,) * (x.rank - array.ndim) + array.shape
    file.require(x.build is not None and shape == tuple(x.shape[-1] if axis == x.rank - 1 else 1 for axis in x.order))
    arrays, own = file.arrays[id(linear)], linear.__typednn_storage__.name
    biased = build(True)
    bias = array.reshape(-1) + arrays.get("bias", np.zeros(1, array.dtype))
    made = file.layer(before, biased.named(own) if own else biased, weight=arrays["weight"], bias=bias)
    return replace(made, order=x.order, features=x.features, build=build)


# ------------------------------------------------------------------ tables


def _write_embedding(file: Writer, layer: Any, x: Traced) -> Out:
    return Out(file.node("Gather", file.constant(layer.weight), file.read(x), axis=0))


def _read_gather(file: Values, weight: str, tokens: str) -> Value:
    """The rows of a matrix that the tokens of the input name are an Embedding."""
    x, array = file.values[tokens], file.constant(weight)
    file.require(x.before is None and bool(x.dtype) and len(x.shape) == 1 and not file.option("axis", 0))
    rows, columns = array.shape
    return file.layer(x, file.named(layers.Embedding(rows, columns), weight), weight=array)


# ------------------------------------------------------------------ normalisations


def _write_batch_norm(file: Writer, layer: Any, x: Traced) -> Out:
    shape, dtype = layer.num_features, x.dtype
    weight = file.constant(np.ones(shape, dtype) if layer.weight is None else layer.weight)
    bias = file.constant(np.zeros(shape, dtype) if layer.bias is None else layer.bias)
    if layer.running_mean is None:
        return _scaled(file, _normalised(file, file.read(x), list(range(x.ndim - 1)), layer.eps, x), weight, bias)
    mean, variance = file.constants_of(layer.running_mean, layer.running_var)
    given = file.read(x, True), weight, bias, mean, variance
    return Out(file.node("BatchNormalization", *given, epsilon=layer.eps), True)


def _read_batch_norm(file: Values, name: str, *given: str) -> Value:
    x, eps, momentum = file.value(name), file.option("epsilon", 1e-5), file.option("momentum", 0.9)
    file.require(x.rank == 2 or (x.first and x.rank <= 4))
    make: Any = layers.BatchNorm2d if x.rank == 4 else layers.BatchNorm1d
    weight, bias, mean, variance = (x.places(file.constant(each)) for each in given)
    made = file.named(make(x.shape[-1], eps, round(1.0 - momentum, 7)), given[0])
    return file.alike(x, made, weight=weight, bias=bias, running_mean=mean, running_var=variance)


def _normalised(file: Writer, x: str, axes: list[int], eps: float, like: Traced) -> str:
    """``x`` with mean 0 and variance 1 over ``axes``."""
    centred = file.node("Sub", x, file.node("ReduceMean", x, axes=axes, keepdims=1))
    variance = file.node("ReduceMean", file.node("Mul", centred, centred), axes=axes, keepdims=1)
    normal: str = file.node("Div", centred, file.node("Sqrt", file.node("Add", variance, file.number(eps, like))))
    return normal


def _scaled(file: Writer, x: str, weight: str | None, bias: str | None) -> Out:
    x = x if weight is None else file.node("Mul", x, weight)
    return Out(x if bias is None else file.node("Add", x, bias))


def _write_group_norm(file: Writer, layer: Any, x: Traced) -> Out:
    _, height, width, channels = x.shape
    groups = file.reshaped(file.read(x, True), layer.num_groups, channels // layer.num_groups * height * width)
    whole = file.reshaped(_normalised(file, groups, [2], layer.eps, x), channels, height, width)
    if layer.weight is None:
        return Out(whole, True)
    weight, bias = (
        file.constant(array, lambda array: array.reshape(-1, 1, 1), "by channel")
        for array in (layer.weight, layer.bias)
    )
    return Out(_scaled(file, whole, weight, bias).name, True)


def _write_layer_norm(file: Writer, layer: Any, x: Traced) -> Out:
    weight = file.constant(np.ones(layer.normalized_shape, x.dtype) if layer.weight is None else layer.weight)
    biases = file.constants_of(layer.bias)
    return Out(file.node("LayerNormalization", file.read(x), weight, *biases, axis=-1, epsilon=layer.eps))


def _read_layer_norm(file: Values, name: str, weight: str, bias: str | None = None) -> Value:
    x, eps, _ = file.value(name), file.option("epsilon", 1e-5), file.option("stash_type")
    arrays = [x.places(file.constant(each)) for each in (weight, bias) if each is not None]
    file.require(file.option("axis", -1) % x.rank == x.rank - 1 and x.order == in_order(x.rank))
    file.require(all(array.shape == x.shape[-1:] for array in arrays))
    made = file.named(layers.LayerNorm(x.shape[-1], eps, bias=bias is not None), weight)
    return file.alike(x, made, **dict(zip(("weight", "bias"), arrays, strict=False)))


def _write_rms_norm(file: Writer, layer: Any, x: Traced) -> Out:
    eps, name = float(np.finfo(x.dtype).eps) if layer.eps is None else layer.eps, file.read(x)
    squares = file.node("ReduceMean", file.node("Mul", name, name), axes=[-1], keepdims=1)
    root = file.node("Sqrt", file.node("Add", squares, file.number(eps, x)))
    normal = file.node("Div", name, root)
    return _scaled(file, normal, None if layer.weight is None else file.constant(layer.weight), None)


ROWS: Final[Mapping[type, Row]] = {
    layers.BatchNorm1d: Row(
        _write_batch_norm,
        {"BatchNormalization": _read_batch_norm},
        features=("weight", "bias", "running_mean", "running_var"),
    ),
    layers.BatchNorm2d: Row(_write_batch_norm, {"BatchNormalization": _read_batch_norm}),
    layers.Dropout: Row(nothing, {"Dropout": _read_dropout}, {"seed": None}),
    layers.Dropout2d: Row(nothing, torch={"seed": None}),
    layers.ELU: _alike(layers.ELU, "Elu", alpha=("alpha", 1.0)),
    layers.Embedding: Row(_write_embedding, {"Gather": _read_gather}),
    layers.GELU: Row(_write_gelu, {"Gelu": _read_gelu}),
    layers.GLU: Row(_write_glu),
    layers.GroupNorm: Row(_write_group_norm),
    layers.Hardsigmoid: Row(_written("HardSigmoid", None, **_HARD), {"HardSigmoid": _read_hard_sigmoid}),
    layers.Hardswish: _alike(layers.Hardswish, "HardSwish"),
    layers.LayerNorm: Row(_write_layer_norm, {"LayerNormalization": _read_layer_norm}, features=("weight", "bias")),
    layers.LeakyReLU: _alike(layers.LeakyReLU, "LeakyRelu", alpha=("negative_slope", 0.01)),
    layers.Linear: Row(_write_linear, {"Gemm": _read_gemm, "MatMul": _read_matmul}, features=("weight",)),
    layers.LogSoftmax: _softmax(layers.LogSoftmax, "LogSoftmax"),
    layers.PReLU: Row(_write_prelu, {"PRelu": _read_prelu}, {"slope": "weight"}),
    layers.RMSNorm: Row(_write_rms_norm, features=("weight",)),
    layers.ReLU: _alike(layers.ReLU, "Relu"),
    layers.SELU: _alike(layers.SELU, "Selu"),
    layers.SequenceLinear: Row(_write_linear, {"MatMul": _read_matmul}, features=("weight",)),
    layers.SiLU: Row(_write_silu, {"Mul": _read_silu}),
    layers.Sigmoid: _alike(layers.Sigmoid, "Sigmoid"),
    layers.Softmax: _softmax(layers.Softmax, "Softmax"),
    layers.Softplus: Row(_write_softplus, {"Softplus": _read(layers.Softplus)}),
    layers.Tanh: _alike(layers.Tanh, "Tanh"),
}
