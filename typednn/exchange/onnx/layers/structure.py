"""Layers of shapes and of branches in ONNX, and operators that only change how numbers lie."""

# Rows are functions of what they write and read.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, cast

import numpy as np

from typednn import layers
from typednn.exchange.onnx.formula import BATCH
from typednn.exchange.onnx.layers.features import read_bias
from typednn.exchange.onnx.layers.row import Read, Row
from typednn.exchange.onnx.operators import FLOATS
from typednn.exchange.onnx.values import Value, Values, in_order
from typednn.exchange.onnx.writer import Out, Writer
from typednn.exchange.tracing import Traced
from typednn.layer import Sequential

# ------------------------------------------------------------------ shapes


def _write_flatten(file: Writer, layer: Any, x: Traced) -> Out:
    end = layer.end_dim % x.ndim + 1
    sizes = [*x.shape[1 : layer.start_dim], math.prod(x.shape[layer.start_dim : end]), *x.shape[end:]]
    return Out(file.reshaped(file.read(x), *sizes))


def _read_flatten(file: Values, name: str) -> Value:
    x = file.value(name)
    file.require(file.option("axis", 1) % x.rank == 1)
    return _as_row(file, x)


def _as_row(file: Values, x: Value) -> Value:
    """All of a sample in one row; where the order there is another, the place here of each number there."""
    if len(x.shape) == 1:
        return x
    places = np.arange(math.prod(x.shape)).reshape(x.shape).transpose([axis - 1 for axis in x.order[1:]]).ravel()
    features = None if np.array_equal(places, np.arange(len(places))) else places
    return file.layer(x, cast("Any", layers.Flatten)(), in_order(2), features)


def _read_reshape(file: Values, name: str, sizes: str) -> Value:
    x, shape = file.value(name), file.sizes(sizes)
    copies, there = not file.option("allowzero", 0), [x.shape[axis - 1] for axis in x.order[1:]]
    if copies:
        shape = [there[place - 1] if size == 0 and place else size for place, size in enumerate(shape)]
    first, *sample = shape
    file.require(first in {BATCH, -1, file.context.fixed} - {0} or (not first and copies))
    known = math.prod(size for size in sample if size != -1)
    if -1 in sample and first != -1 and known > 0:
        sample = [math.prod(there) // known if size == -1 else size for size in sample]
    file.require(math.prod(sample) == math.prod(there) and min(sample, default=0) >= 1)
    if len(sample) == 1:
        return _as_row(file, x)
    if sample == there:
        return x
    file.require(x.order == in_order(x.rank) and x.features is None and len(sample) <= 3)
    return file.layer(x, cast("Any", layers.Reshape)(*sample), in_order(len(sample) + 1))


def _read_squeeze(file: Values, name: str, given: str | None = None) -> Value:
    x, axes = file.value(name, moved=True), file.integers(given, "axes")
    alone = [axis for axis, size in enumerate(x.there) if size == 1]
    gone = alone if axes is None else [axis % x.rank for axis in axes]
    if x.features is None and all(x.order[axis] < 0 for axis in gone):
        return Value(x.shape, tuple(each for axis, each in enumerate(x.order) if axis not in gone), None, x)
    file.require(not x.order[0] and -1 not in x.order and len(x.shape) - len(gone) == 1)
    file.require(0 not in gone and {*gone} <= {*alone})
    return _as_row(file, x)


def _read_transpose(file: Values, name: str) -> Value:
    x = file.value(name, moved=True)
    order = file.option("perm", list(range(x.rank))[::-1])
    file.require(x.features is None and sorted(order) == list(range(x.rank)))
    return Value(x.shape, tuple(x.order[axis] for axis in order), None, x)


def _read_identity(file: Values, name: str) -> Value:
    return file.value(name, moved=True)


def _read_cast(file: Values, name: str) -> Value:
    """All floats of a model have one dtype."""
    file.option("saturate")
    file.require(file.option("to") in FLOATS)
    return file.value(name, moved=True)


# ------------------------------------------------------------------ branches


def _read_add(file: Values, left: str, right: str) -> Value:
    constants = file.context.constants
    if left in constants or right in constants:
        return read_bias(file, *((right, left) if left in constants else (left, right)))
    first, second = file.value(left), file.value(right)
    file.require(first.order == second.order and first.shape == second.shape)
    file.require(np.array_equal(cast("Any", first.features), cast("Any", second.features)))
    start = file.common([first, second])
    inner, shortcut = file.branch(start, first), file.branch(start, second)
    inner, shortcut = (inner, shortcut) if inner else (shortcut, inner)
    file.require(bool(inner))
    residual: Any = layers.Residual
    made = residual(_one(inner), _one(shortcut) if shortcut else None)
    return replace(file.layer(start, made), order=first.order, features=first.features)


def _one(parts: Sequence[Any]) -> Any:
    """Layers as one."""
    return parts[0] if len(parts) == 1 else Sequential(cast("Any", parts))


def _read_concat(file: Values, *names: str) -> Value:
    values = [file.value(name) for name in names]
    rank, order = values[0].rank, values[0].order
    file.require(all(value.order == order and value.features is None for value in values))
    file.require(order[file.option("axis", 1) % rank] == rank - 1)
    start = file.common(values)
    concat: Any = layers.Concat
    made = concat(*(_one(file.branch(start, value) or [layers.Identity()]) for value in values))
    return replace(file.layer(start, made), order=order)


ROWS: Final[Mapping[type, Row]] = {
    layers.Flatten: Row(_write_flatten, {"Flatten": _read_flatten}),
    layers.Identity: Row(lambda file, layer, x: x, {"Identity": _read_identity}),
    layers.Reshape: Row(
        lambda file, layer, x: Out(file.reshaped(file.read(x), *layer.shape)), {"Reshape": _read_reshape}
    ),
}

# Operators that become layers of layers, or none.
OTHERS: Final[Mapping[str, Read]] = {
    "Add": _read_add,
    "Cast": _read_cast,
    "Concat": _read_concat,
    "Squeeze": _read_squeeze,
    "Transpose": _read_transpose,
}
