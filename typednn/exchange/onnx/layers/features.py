"""Layers of features in ONNX: products with a weight, tables, normalisations."""

# Rows are functions of what they write and read.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np

from typednn import layers
from typednn.exchange.onnx.layers.row import Row
from typednn.exchange.onnx.values import Value, Values, in_order
from typednn.exchange.onnx.writer import Out, Writer
from typednn.exchange.tracing import Traced

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
    file.require(build is not None and shape == tuple(x.shape[-1] if axis == x.rank - 1 else 1 for axis in x.order))
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
    layers.BatchNorm1d: Row(_write_batch_norm, {"BatchNormalization": _read_batch_norm}),
    layers.BatchNorm2d: Row(_write_batch_norm, {"BatchNormalization": _read_batch_norm}),
    layers.Embedding: Row(_write_embedding, {"Gather": _read_gather}),
    layers.GroupNorm: Row(_write_group_norm),
    layers.LayerNorm: Row(_write_layer_norm, {"LayerNormalization": _read_layer_norm}),
    layers.Linear: Row(_write_linear, {"Gemm": _read_gemm, "MatMul": _read_matmul}),
    layers.RMSNorm: Row(_write_rms_norm),
    layers.SequenceLinear: Row(_write_linear, {"MatMul": _read_matmul}),
}
