"""An ONNX file as a model: one row for each operator that has a counterpart.

The graph is read as a tree of values, each a layer behind another value. Where two branches of it are added they become a `Residual`,
where they are joined along the channels a `Concat`; what remains from the input to the output is a chain.

ONNX's images are channels first, the model's channels last: it reads ``batch, height, width, channels``. Weights of windows change their
layout, a Transpose becomes none, and of what reads a flattened image the features change places. The input of a file of `export_onnx`,
whose first node is a Transpose to channels first, is channels last already.

A file names no code, and none is run. Weights in other files are read from its own folder only. Before the model is given its results are
compared with the file's, which ONNX Runtime runs, or ONNX's own reference.

Source: the operators of ONNX's standard, github.com/onnx/onnx/blob/main/docs/Operators.md.
"""

# Rows are functions of what they read.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final, NoReturn, TypeAlias, cast, final

import numpy as np

from typednn import layers
from typednn.arrays import is_floating
from typednn.errors import ArgumentError, DataError, StackError, TypednnError, explain, optional
from typednn.exchange.onnx_export import EXTRA, TOLERANCE, difference, opened_onnx
from typednn.files import opened, path_of
from typednn.layer import Input, Sequential
from typednn.module.module import DTYPES, Module
from typednn.shapes import Flow

Array = np.ndarray[Any, Any]
Order: TypeAlias = "tuple[int, ...]"

# Of the input of one of these the channels are axis 1.
_CHANNELS_FIRST: Final = frozenset(
    {"AveragePool", "BatchNormalization", "Conv", "ConvTranspose", "GlobalAveragePool", "InstanceNormalization", "MaxPool", "Resize"}
)
_FOLDED: Final = 64  # numbers; larger constants are weights, and only moved


@final
@dataclass(frozen=True, slots=True, eq=False)
class _Value:
    """A value of the graph: what ``layer`` makes of ``before``, or that itself with its axes in another order there.

    ``shape`` is a sample's here.
    ``order``: the axes here of each axis there, so that the file's array is ours, transposed so. Of a row, ``features`` are the places
    here of the numbers there, where they differ.
    """

    shape: tuple[int, ...]
    order: Order
    layer: Module | None = None
    before: _Value | None = None
    features: Array | None = None

    @property
    def first(self) -> bool:
        """Whether the channels are axis 1 there, and the last here."""
        return self.order == _first(len(self.order))


def _first(rank: int) -> Order:
    return (0, rank - 1, *range(1, rank - 1))


def _plain(rank: int) -> Order:
    return tuple(range(rank))


def import_onnx(path: str | os.PathLike[str]) -> Sequential[Any]:
    """The model in an ONNX file, in training, its parameters filled: it gives the file's numbers to 1e-5, in eval.

    An `ArgumentError` names the operator and the node that have no counterpart; a `DataError` tells what is no ONNX file, or leads out of
    its folder. `MissingExtra` without the package ``onnx``.
    """
    place = path_of("import_onnx", path)
    onnx: Any = optional("onnx", "import_onnx", "needs the package onnx", EXTRA)
    reader = _Reader(onnx, place, _read(onnx, place))
    try:
        model = reader.model()
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        if isinstance(error, TypednnError):
            raise
        got = (
            f"{type(error).__name__}: {str(error).partition(chr(10))[0][:120]}"  # of ONNX's own functions, on what its checker let through
        )
        raise DataError(explain(str(place), "must be valid ONNX", got)) from None
    reader.compare(model)
    return model.train()


def _read(onnx: Any, place: Path) -> Any:
    """The file, with the weights that lie in others of its folder."""
    with opened("import_onnx", place) as file:
        content = bytes(file.exactly(file.stream, file.size))
        whole: Any = None
        try:
            whole = onnx.load_model_from_string(content)
            problem = "" if whole.graph.output and whole.opset_import else "a file without outputs or operators"
        except Exception as error:  # of protobuf, whose errors have no class that its package promises
            problem = str(error).strip().partition("\n")[0][:80] or type(error).__name__
        if problem:
            raise DataError(explain(str(place), "must be an ONNX file", problem))
        for tensor in onnx.external_data_helper._get_all_tensors(whole):
            if onnx.external_data_helper.uses_external_data(tensor):
                _check_location(place, next((entry.value for entry in tensor.external_data if entry.key == "location"), ""))
        try:
            onnx.external_data_helper.load_external_data_for_model(whole, str(place.parent))
            onnx.checker.check_model(whole)
        except Exception as error:  # a ValidationError, or what reading the other file met
            got = str(error).strip().partition("\n")[0][:160] or type(error).__name__
            raise DataError(explain(str(place), "must be valid ONNX", got)) from None
    return whole


def _check_location(place: Path, location: str) -> None:
    """Raise unless a file of weights is a plain file of the folder."""
    parts = PurePosixPath(location.replace("\\", "/")).parts
    inside = bool(parts) and ".." not in parts and not Path(location).is_absolute() and ":" not in parts[0]
    target = place.parent / location
    if not inside or not target.resolve().is_relative_to(place.parent.resolve()):
        rule = "weights in another file lie in the folder of the file, or below it"
        raise DataError(explain(str(place), rule, repr(location[:80]), "put both into one folder"))
    with opened("import_onnx", target) as file:
        file.take(file.size)


@final
@dataclass(slots=True)
class _Reader:
    """The graph of a file, and what was made of it so far."""

    onnx: Any
    place: Path
    whole: Any
    constants: dict[str, Array] = field(default_factory=dict[str, Array])
    values: dict[str, _Value] = field(default_factory=dict[str, _Value])
    arrays: dict[int, dict[str, Array]] = field(default_factory=dict[int, dict[str, Array]])  # of each layer, its parameters and buffers
    names: set[str] = field(default_factory=set[str])
    used: set[int] = field(default_factory=set[int])  # values that became part of a branch
    source: Any = None
    node: Any = None

    # -------------------------------------------------------------- the graph

    def model(self) -> Sequential[Any]:
        """The chain from the input to the output."""
        graph, numpy = self.whole.graph, self.onnx.numpy_helper
        self.constants = {each.name: numpy.to_array(each) for each in graph.initializer}
        inputs = [each for each in graph.input if each.name not in self.constants]
        if len(inputs) != 1 or len(graph.output) != 1:
            got = f"{len(inputs)} and {len(graph.output)}"
            raise ArgumentError(explain(str(self.place), "a model has one input and one output", got, "cut the graph before"), "path")
        self.source = inputs[0]
        start = self.values[self.source.name] = self.begin()
        for node in graph.node:
            self.node = node
            self.add()
        end = self.values.get(graph.output[0].name)
        if end is None or end is start:
            raise ArgumentError(explain(str(self.place), "the output depends on the input", "a constant, or the input itself"), "path")
        if end.features is not None or (end.order != _plain(len(end.order)) and not end.first):
            got = "an image that was flattened" if end.features is not None else f"axes in the order {end.order}"
            raise ArgumentError(explain(str(self.place), "the output has its features in the order in which layers give them", got), "path")
        parts = self.branch(start, end)
        try:
            model: Sequential[Any] = Sequential(cast("Any", parts), input=Input(*start.shape))
        except TypednnError as error:
            raise ArgumentError(explain(str(self.place), "must be a chain of layers", str(error)), "path") from None
        return self.filled(model)

    def begin(self) -> _Value:
        """What the model reads."""
        about = self.source.type.tensor_type
        sizes = [size.dim_value if size.HasField("dim_value") else 0 for size in about.shape.dim][1:]
        kind = self.onnx.helper.tensor_dtype_to_np_dtype(about.elem_type) if about.elem_type else np.dtype(np.float32)
        if kind not in DTYPES or not 1 <= len(sizes) <= 3 or not all(sizes):
            got = f"{kind} {['batch', *(size or '?' for size in sizes)]}"
            rule, cure = f"the input {self.source.name!r} has floats, and known sizes but the batch's", "export it with such sizes"
            raise ArgumentError(explain(str(self.place), rule, got, cure), "path")
        order = _first(len(sizes) + 1) if self.starts_first(len(sizes) + 1) else _plain(len(sizes) + 1)
        return _Value(tuple(sizes[order.index(axis) - 1] for axis in range(1, len(order))), order)

    def starts_first(self, rank: int) -> bool:
        """Whether the input's channels are axis 1: what reads it, or what follows number by number, tells."""
        if rank == 2:
            return False
        names = {self.source.name}
        for node in self.whole.graph.node:
            if node.input and node.input[0] in names:
                if node.op_type in _CHANNELS_FIRST:
                    return True
                if node.op_type == "Transpose" and len(node.attribute[0].ints) == rank:
                    return tuple(node.attribute[0].ints) != _first(rank)
                if node.op_type in ROWS and node.op_type not in ("Flatten", "Reshape", "Gemm", "MatMul"):
                    names.add(node.output[0])
        return rank == 4 and self.whole.producer_name != "typednn"

    def add(self) -> None:
        """One node."""
        node = self.node
        if node.domain not in ("", "ai.onnx"):
            self.refuse(f"{node.domain}.{node.op_type}")
        if node.op_type == "Constant":
            self.constants[node.output[0]] = self.constant_of(node)
            return
        given = [name for name in node.input if name]
        if node.op_type == "Shape" and given[0] in self.values:
            x = self.values[given[0]]
            sizes = [x.shape[axis - 1] if axis else -1 for axis in x.order]
            self.constants[node.output[0]] = np.array(sizes, np.int64)
            return
        if given and all(name in self.constants for name in given) and self.folded(given):
            return
        row = ROWS.get(node.op_type)
        if row is None:
            self.refuse(node.op_type)
        unknown = next((name for name in given if name not in self.values and name not in self.constants), None)
        if unknown is not None:
            self.refuse(f"{node.op_type}, which reads {unknown!r}, of which nothing is known")
        try:
            self.values[node.output[0]] = row(self, *given)
        except (StackError, ArgumentError, IndexError, ValueError, TypeError) as error:
            if isinstance(error, ArgumentError) and error.argument == "path":
                raise
            self.refuse(f"{node.op_type}: {str(error).partition(chr(10))[0]}")

    def folded(self, given: Sequence[str]) -> bool:
        """Compute a node of constants, such as the sizes for a Reshape; whether that was done."""
        node, arrays = self.node, [self.constants[name] for name in given]
        if node.op_type in ("Identity", "Transpose", "Reshape", "Cast") or all(array.size <= _FOLDED for array in arrays):
            helper = self.onnx.helper
            infos = [
                helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(self.constants[name].dtype), None) for name in given
            ]
            names: list[str] = [name for name in node.output if name]
            outputs = [helper.make_tensor_value_info(name, 0, None) for name in names]
            graph = helper.make_graph([node], "constants", infos, outputs)
            content = helper.make_model(graph, opset_imports=self.whole.opset_import, ir_version=self.whole.ir_version)
            evaluator = optional("onnx.reference", "import_onnx", "needs the package onnx", EXTRA).ReferenceEvaluator(content)
            try:
                found = evaluator.run(None, dict(zip(given, arrays, strict=True)))
            except Exception as error:  # of whatever the reference meets
                self.refuse(f"{node.op_type}: {error}")
            self.constants |= {name: np.asarray(array) for name, array in zip(names, found, strict=True)}
            return True
        return False

    def constant_of(self, node: Any) -> Array:
        value = self.onnx.helper.get_attribute_value(node.attribute[0])
        return np.asarray(self.onnx.numpy_helper.to_array(value) if node.attribute[0].name == "value" else value)

    def refuse(self, got: str) -> NoReturn:
        """The error for what has no counterpart."""
        name = self.node.name or self.node.output[0]
        rule, cure = "each operator has a counterpart among the layers", "docs/exchange.md lists those that have; build the model by hand"
        raise ArgumentError(explain(f"{self.place}, node {name!r}", rule, got, cure), "path") from None

    # -------------------------------------------------------------- what rows use

    def options(self, **defaults: Any) -> Any:
        """The attributes of the node, each with its default; one that is not known here is refused, unless it says what is so anyway."""
        found = dict(defaults)
        for attribute in self.node.attribute:
            value = self.onnx.helper.get_attribute_value(attribute)
            value = value.decode() if isinstance(value, bytes) else float(str(np.float32(value))) if isinstance(value, float) else value
            if attribute.name in defaults:
                found[attribute.name] = value
            elif isinstance(value, list) or (attribute.name, value) not in _HARMLESS:
                self.refuse(f"{self.node.op_type} with {attribute.name}={value!r}")
        return found

    def value(self, name: str) -> _Value:
        """The value of this name; a constant is refused where one is expected."""
        if name not in self.values:
            self.refuse(f"{self.node.op_type} of the constant {name!r}")
        return self.values[name]

    def constant(self, name: str) -> Array:
        """The constant of this name; a value is refused where one is expected."""
        if name not in self.constants:
            self.refuse(f"{self.node.op_type} with {name!r}, which is computed")
        return self.constants[name]

    def channels_first(self, name: str) -> _Value:
        """A value whose channels are axis 1."""
        x = self.value(name)
        if not x.first or len(x.order) < 3:
            self.refuse(f"{self.node.op_type} of axes in the order {x.order}")
        return x

    def layer(self, x: _Value, layer: Any, order: Order | None = None, features: Array | None = None, **arrays: Any) -> _Value:
        """What ``layer``, whose parameters are ``arrays``, makes of ``x``."""
        self.arrays[id(layer)] = {name: np.asarray(array) for name, array in arrays.items() if array is not None}
        sizes = layer.trace(Flow.start(x.shape)).sizes()
        if sizes is None:
            self.refuse(f"{self.node.op_type}, whose sizes are not known")
        shape = tuple(sizes)
        return _Value(shape, order or (x.order if len(shape) == len(x.shape) else _plain(len(shape) + 1)), layer, x, features)

    def named(self, layer: Any, weight: str) -> Any:
        """``layer`` under the name that its weight has in the file, where it can be one."""
        name, _, kind = weight.rpartition(".")
        if kind == "weight" and name.isidentifier() and name not in self.names:
            self.names.add(name)
            layer.named(name)
        return layer

    def branch(self, start: _Value, end: _Value) -> list[Module]:
        """The layers from one value to another, each of which may be in one branch only."""
        found: list[Module] = []
        value: _Value = end
        while value is not start:
            if id(value) in self.used:
                self.refuse(f"{self.node.op_type} of a value that another branch has too")
            self.used.add(id(value))
            if value.layer is not None:
                found.append(value.layer)
            assert value.before is not None
            value = value.before
        return found[::-1]

    def common(self, ends: Sequence[_Value]) -> _Value:
        """The last value on the way to all of these."""
        ways: list[list[_Value]] = []
        for end in ends:
            way, value = [end], end
            while value.before is not None:
                value = value.before
                way.append(value)
            ways.append(way)
        return next(value for value in ways[0] if all(any(value is other for other in way) for way in ways))

    # -------------------------------------------------------------- the model

    def filled(self, model: Sequential[Any]) -> Sequential[Any]:
        """The model with the arrays of its layers."""
        state: dict[str, Array] = {}
        for path, module in model.named_modules():
            state.update((f"{path}.{name}", array) for name, array in self.arrays.get(id(module), {}).items())
        kinds = {array.dtype for array in state.values() if is_floating(array.dtype)}
        kind = kinds.pop() if len(kinds) == 1 else np.dtype(np.float32)
        model = model.astype(kind).init(np.random.default_rng(0))
        own = model.state_dict()
        try:
            model.load_state_dict({**own, **{name: array.astype(own[name].dtype) for name, array in state.items()}})
        except TypednnError as error:
            raise ArgumentError(explain(str(self.place), "has weights that fit their operators", str(error)), "path") from None
        return model

    def compare(self, model: Sequential[Any]) -> None:
        """Raise unless the model gives the file's numbers."""
        start, end = self.values[self.source.name], self.values[self.whole.graph.output[0].name]
        fixed = self.source.type.tensor_type.shape.dim[0]
        batch = fixed.dim_value if fixed.HasField("dim_value") and fixed.dim_value else 2
        x = np.random.default_rng(0).standard_normal((batch, *start.shape)).astype(model.dtype)
        rule = f"the model must give the file's numbers to {TOLERANCE}"
        try:
            run = opened_onnx(self.whole.SerializeToString() if self.whole.ByteSize() < 1 << 31 else str(self.place))
            found = run({self.source.name: np.ascontiguousarray(x.transpose(start.order))})
        except Exception as error:  # of whatever runs it
            got = str(error).strip().partition("\n")[0][:200] or type(error).__name__
            raise ArgumentError(explain(str(self.place), rule, got, "the file itself cannot be run"), "path") from None
        apart = difference(np.asarray(found), model.eval().forward(x).transpose(end.order))
        if apart > TOLERANCE:
            raise ArgumentError(explain(str(self.place), rule, f"a difference of {apart:.2g}"), "path")


# What an attribute may say without changing anything here.
_HARMLESS: Final = {("storage_order", 0), ("ceil_mode", 0), ("auto_pad", "NOTSET"), ("training_mode", 0), ("spatial", 1), ("is_test", 1)}
_HARMLESS.add(("allowzero", 0))


# ------------------------------------------------------------------ operators

Row: TypeAlias = "Callable[..., _Value]"


def _elementwise(make: Callable[..., Any], **defaults: Any) -> Row:
    """A layer that works number by number; the node's attributes are its arguments."""

    def row(file: _Reader, name: str) -> _Value:
        x = file.value(name)
        return file.layer(x, make(*file.options(**defaults).values()), features=x.features)

    return row


def _softmax(kind: Any) -> Row:
    def row(file: _Reader, name: str) -> _Value:
        x, axis = file.value(name), file.options(axis=-1)["axis"]
        if len(x.shape) != 1 or axis not in (-1, 1) or x.features is not None:
            file.refuse(f"{file.node.op_type} along axis {axis} of {len(x.shape) + 1}")
        return file.layer(x, kind())

    return row


def _columns(x: _Value, weight: Array) -> Array:
    """The weight of a Linear, its columns in the order of the numbers here."""
    return weight if x.features is None else weight[:, np.argsort(x.features)]


def _gemm(file: _Reader, name: str, weight: str, bias: str | None = None) -> _Value:
    options = file.options(alpha=1.0, beta=1.0, transA=0, transB=0)
    x, array = file.value(name), file.constant(weight)
    if len(x.shape) != 1 or options["transA"]:
        file.refuse("Gemm of what is no row")
    array = array if options["transB"] else array.T
    offset = (
        None if bias is None else np.broadcast_to(file.constant(bias), array.shape[:1] if file.constant(bias).ndim < 2 else (1, len(array)))
    )
    made = file.named(layers.Linear(array.shape[1], array.shape[0], bias=bias is not None), weight)
    arrays = {"weight": options["alpha"] * _columns(x, array), "bias": None if offset is None else options["beta"] * offset.reshape(-1)}
    return file.layer(x, made, **arrays)


def _matmul(file: _Reader, name: str, weight: str) -> _Value:
    x, array = file.value(name), file.constant(weight)
    if array.ndim != 2 or len(x.shape) > 2 or x.order != _plain(len(x.order)):
        file.refuse(f"MatMul of {len(x.shape) + 1} and {array.ndim} axes")
    kind: Any = layers.Linear if len(x.shape) == 1 else layers.SequenceLinear
    return file.layer(x, file.named(kind(*array.shape, bias=False), weight), weight=_columns(x, array.T))


def _add(file: _Reader, left: str, right: str) -> _Value:
    if left in file.constants or right in file.constants:
        x, array = (file.value(right), file.constant(left)) if left in file.constants else (file.value(left), file.constant(right))
        linear = x.layer
        if not isinstance(linear, layers.Linear | layers.SequenceLinear) or linear.bias is not None or array.size != x.shape[-1]:
            file.refuse("Add of a constant that is no bias of a product before it")
        assert x.before is not None
        kind: Any = layers.Linear if isinstance(linear, layers.Linear) else layers.SequenceLinear
        biased = kind(linear.in_features, linear.out_features)
        if linear.__typednn_storage__.name:
            biased.named(linear.__typednn_storage__.name)
        return file.layer(x.before, biased, weight=file.arrays[id(linear)]["weight"], bias=array.reshape(-1))
    first, second = file.value(left), file.value(right)
    if first.order != second.order or first.shape != second.shape or (first.features is None) != (second.features is None):
        file.refuse(f"Add of shapes {first.shape} and {second.shape}")
    if first.features is not None and not np.array_equal(first.features, cast("Array", second.features)):
        file.refuse("Add of rows in different orders")
    start = file.common([first, second])
    inner, shortcut = file.branch(start, first), file.branch(start, second)
    if not inner and not shortcut:
        file.refuse("Add of a value to itself")
    inner, shortcut = (inner, shortcut) if inner else (shortcut, inner)
    residual: Any = layers.Residual
    made = residual(_one(inner), _one(shortcut) if shortcut else None)
    return replace(file.layer(start, made), order=first.order, features=first.features)


def _one(parts: Sequence[Any]) -> Any:
    """Layers as one."""
    return parts[0] if len(parts) == 1 else Sequential(cast("Any", parts))


def _concat(file: _Reader, *names: str) -> _Value:
    axis, values = file.options(axis=1)["axis"], [file.value(name) for name in names]
    rank = len(values[0].order)
    if any(value.order != values[0].order or value.features is not None for value in values):
        file.refuse("Concat of values in different orders")
    if values[0].order[axis % rank] != rank - 1:
        file.refuse(f"Concat along axis {axis}, which is not that of the channels")
    start = file.common(values)
    branches = [_one(file.branch(start, value) or [layers.Identity()]) for value in values]
    made: Any = layers.Concat(*branches)
    return replace(file.layer(start, made), order=values[0].order)


def _mul(file: _Reader, left: str, right: str) -> _Value:
    """x·sigmoid(x) is a SiLU."""
    for x, gate in ((file.values.get(left), file.values.get(right)), (file.values.get(right), file.values.get(left))):
        if x is not None and gate is not None and isinstance(gate.layer, layers.Sigmoid) and gate.before is x:
            return file.layer(x, layers.SiLU(), features=x.features)
    return file.refuse("Mul, which is not x·Sigmoid(x)")


def _window(file: _Reader, rank: int) -> dict[str, Any]:
    ones = [1] * (rank - 2)
    return dict(
        file.options(kernel_shape=None, strides=ones, dilations=ones, pads=[0, 0] * (rank - 2), group=1, output_padding=[0] * (rank - 2))
    )


def _short(sizes: Sequence[int]) -> Any:
    """One number where all are equal."""
    return sizes[0] if len(set(sizes)) == 1 else tuple(sizes)


def _even(file: _Reader, pads: Sequence[int]) -> tuple[int, ...]:
    """The padding of each axis, where both sides have the same."""
    half = len(pads) // 2
    if list(pads[:half]) != list(pads[half:]):
        file.refuse(f"{file.node.op_type} with pads={list(pads)}, which differ between the sides")
    return tuple(pads[:half])


def _conv(file: _Reader, name: str, weight: str, bias: str | None = None) -> _Value:
    x, array = file.channels_first(name), file.constant(weight)
    options = _window(file, array.ndim)
    offset = None if bias is None else file.constant(bias)
    channels, out, groups = array.shape[1] * options["group"], array.shape[0], options["group"]
    strides, dilations, pads = options["strides"], options["dilations"], list(options["pads"])
    made: Any = None
    if array.ndim == 3:
        (ends,) = _even(file, pads)
        made = layers.Conv1d(channels, out, array.shape[2], strides[0], ends, dilations[0], groups, bias is not None)
    elif array.ndim == 4:
        if pads[:2] != pads[2:]:
            x = file.layer(x, layers.Pad2d((pads[1], pads[3], pads[0], pads[2])))
            pads = [0, 0, 0, 0]
        window: Any = map(_short, (array.shape[2:], strides, pads[:2], dilations))
        kernel, stride, padding, dilation = window
        made = layers.Conv2d(channels, out, kernel, stride, padding, dilation, groups, bias is not None)
    else:
        file.refuse(f"Conv of {array.ndim - 2} axes")
    return file.layer(x, file.named(made, weight), weight=np.moveaxis(array, 1, -1), bias=offset)


def _conv_transpose(file: _Reader, name: str, weight: str, bias: str | None = None) -> _Value:
    x, array = file.channels_first(name), file.constant(weight)
    options = _window(file, array.ndim)
    if array.ndim != 4:
        file.refuse(f"ConvTranspose of {array.ndim - 2} axes")
    sizes: Any = map(_short, (array.shape[2:], options["strides"], _even(file, options["pads"]), options["output_padding"]))
    groups, kind, biased = options["group"], cast("Any", layers.ConvTranspose2d), bias is not None
    made = kind(array.shape[0], array.shape[1] * groups, *sizes, groups, biased, _short(options["dilations"]))
    offset = None if bias is None else file.constant(bias)
    return file.layer(x, file.named(made, weight), weight=np.moveaxis(array, 1, -1), bias=offset)


def _pool(kind: Any, **more: Any) -> Row:
    def row(file: _Reader, name: str) -> _Value:
        x = file.channels_first(name)
        options = file.options(kernel_shape=None, strides=[1, 1], pads=[0, 0, 0, 0], **more)
        if len(x.order) != 4 or len(file.node.output) > 1:
            file.refuse(f"{file.node.op_type} of {len(x.order) - 2} axes, or with indices")
        sizes: Any = map(_short, (options["kernel_shape"], options["strides"], _even(file, options["pads"])))
        extra = (
            {"dilation": _short(options["dilations"])} if "dilations" in more else {"count_include_pad": bool(options["count_include_pad"])}
        )
        return file.layer(x, kind(*sizes, **extra))

    return row


def _global_average(file: _Reader, name: str) -> _Value:
    x = file.channels_first(name)
    if len(x.order) != 4:
        file.refuse(f"GlobalAveragePool of {len(x.order) - 2} axes")
    return file.layer(x, layers.AdaptiveAvgPool2d(1))


def _reduce_mean(file: _Reader, name: str, given: str | None = None) -> _Value:
    x = file.value(name)
    options = file.options(axes=None, keepdims=1, noop_with_empty_axes=0)
    axes = options["axes"] if given is None else file.constant(given).tolist()
    if len(x.order) != 4 or axes is None or sorted(x.order[axis % 4] for axis in axes) != [1, 2]:
        file.refuse(f"ReduceMean over {axes}, which is not an image's height and width")
    return file.layer(x, layers.AdaptiveAvgPool2d(1) if options["keepdims"] else layers.GlobalAvgPool2d())


def _batch_norm(file: _Reader, name: str, *given: str) -> _Value:
    x, options = file.value(name), file.options(epsilon=1e-5, momentum=0.9)
    if len(x.order) > 2 and not x.first:
        file.refuse(f"BatchNormalization of axes in the order {x.order}")
    kind: Any = layers.BatchNorm2d if len(x.order) == 4 else layers.BatchNorm1d
    arrays = [file.constant(each) for each in given]
    if x.features is not None:
        arrays = [array[np.argsort(x.features)] for array in arrays]
    made = file.named(kind(x.shape[-1], options["epsilon"], round(1.0 - options["momentum"], 7)), given[0])
    weight, bias, mean, variance = arrays
    return file.layer(x, made, features=x.features, weight=weight, bias=bias, running_mean=mean, running_var=variance)


def _layer_norm(file: _Reader, name: str, weight: str, bias: str | None = None) -> _Value:
    x, options = file.value(name), file.options(axis=-1, epsilon=1e-5, stash_type=1)
    if options["axis"] % len(x.order) != len(x.order) - 1 or x.order != _plain(len(x.order)):
        file.refuse(f"LayerNormalization from axis {options['axis']}")
    arrays = [None if each is None else file.constant(each) for each in (weight, bias)]
    if x.features is not None:
        arrays = [None if array is None else array[np.argsort(x.features)] for array in arrays]
    made = file.named(layers.LayerNorm(x.shape[-1], options["epsilon"], bias=bias is not None), weight)
    return file.layer(x, made, features=x.features, weight=arrays[0], bias=arrays[1])


def _dropout(file: _Reader, name: str, ratio: str | None = None, mode: str | None = None) -> _Value:
    x, options = file.value(name), file.options(ratio=0.5, seed=0)
    p = options["ratio"] if ratio is None else float(file.constant(ratio))
    if mode is not None and file.constant(mode).any():
        file.refuse("Dropout in training")
    return file.layer(x, layers.Dropout(p), features=x.features)


def _prelu(file: _Reader, name: str, slope: str) -> _Value:
    x, array = file.value(name), file.constant(slope)
    if array.size != 1:
        file.refuse(f"PRelu with {array.size} slopes")
    return file.layer(x, layers.PReLU(), features=x.features, slope=array.reshape(1))


def _hard_sigmoid(file: _Reader, name: str) -> _Value:
    options = file.options(alpha=0.2, beta=0.5)
    if abs(options["alpha"] - 1 / 6) > 1e-6 or options["beta"] != 0.5:
        file.refuse(f"HardSigmoid with alpha={options['alpha']:g}, beta={options['beta']:g}")
    return file.layer(file.value(name), layers.Hardsigmoid(), features=file.value(name).features)


def _pad(file: _Reader, name: str, pads: str | None = None, value: str | None = None, axes: str | None = None) -> _Value:
    x, options = file.value(name), file.options(mode="constant", pads=None, value=0.0)
    widths = options["pads"] if pads is None else file.constant(pads).tolist()
    number = options["value"] if value is None else float(file.constant(value))
    if len(x.order) != 4 or axes is not None or options["mode"] not in ("constant", "edge"):
        file.refuse(f"Pad of {len(x.order)} axes in mode {options['mode']!r}")
    before, after = ({x.order[axis]: side[axis] for axis in range(4)} for side in (widths[:4], widths[4:]))
    if any(side[axis] for side in (before, after) for axis in (0, 3)) or min(widths) < 0:
        file.refuse(f"Pad with {widths}")
    mode: Any = "replicate" if options["mode"] == "edge" else "constant"
    return file.layer(x, layers.Pad2d((before[2], after[2], before[1], after[1]), mode, 0.0 if mode == "replicate" else number))


def _identity(file: _Reader, name: str) -> _Value:
    return file.value(name)


def _transpose(file: _Reader, name: str) -> _Value:
    x = file.value(name)
    order = file.options(perm=list(range(len(x.order)))[::-1])["perm"]
    if order[0] != 0 or x.features is not None:
        file.refuse(f"Transpose with perm={list(order)}")
    return _Value(x.shape, tuple(x.order[axis] for axis in order), None, x)


def _flatten(file: _Reader, name: str) -> _Value:
    axis = file.options(axis=1)["axis"]
    if axis != 1:
        file.refuse(f"Flatten from axis {axis}")
    return _as_row(file, file.value(name))


def _as_row(file: _Reader, x: _Value) -> _Value:
    """All of a sample in one row; where the order there is another, the place here of each number there."""
    if len(x.shape) == 1:
        return x
    places = np.arange(math.prod(x.shape)).reshape(x.shape).transpose([axis - 1 for axis in x.order[1:]]).ravel()
    features = None if np.array_equal(places, np.arange(len(places))) else places
    return file.layer(x, cast("Any", layers.Flatten)(), _plain(2), features)


def _reshape(file: _Reader, name: str, sizes: str) -> _Value:
    x, shape = file.value(name), file.constant(sizes).tolist()
    file.options()
    there = [x.shape[axis - 1] for axis in x.order[1:]]
    sample = [there[place - 1] if size == 0 and place else size for place, size in enumerate(shape)][1:]
    known = math.prod(size for size in sample if size != -1)
    sample = [math.prod(there) // known if size == -1 else size for size in sample]
    if math.prod(sample) != math.prod(there) or (shape[0] > 0 and -1 not in shape[1:] and not sample):
        file.refuse(f"Reshape to {shape}")
    if len(sample) == 1:
        return _as_row(file, x)
    if sample == there:
        return x
    if x.order != _plain(len(x.order)) or x.features is not None or len(sample) > 3:
        file.refuse(f"Reshape of axes in the order {x.order} to {shape}")
    return file.layer(x, cast("Any", layers.Reshape)(*sample), _plain(len(sample) + 1))


def _squeeze(file: _Reader, name: str, given: str | None = None) -> _Value:
    x, options = file.value(name), file.options(axes=None)
    axes = options["axes"] if given is None else file.constant(given).tolist()
    there = [x.shape[axis - 1] for axis in x.order[1:]]
    gone = [axis % len(x.order) for axis in axes or ()]
    if len(there) - len(gone) != 1 or any(axis == 0 or there[axis - 1] != 1 for axis in gone):
        file.refuse(f"Squeeze of axes {axes}")
    return _as_row(file, x)


def _resize(file: _Reader, name: str, *given: str) -> _Value:
    x, nearest = file.channels_first(name), ("nearest", "asymmetric", "floor")
    options = file.options(
        mode="nearest", coordinate_transformation_mode="half_pixel", nearest_mode="round_prefer_floor", cubic_coeff_a=-0.75
    )
    mode, at = options["mode"], options["coordinate_transformation_mode"]
    scales = file.constant(given[-1])
    whole = len(x.order) == 4 and is_floating(scales.dtype) and scales.shape == (4,) and (scales[:2] == 1).all() and (scales % 1 == 0).all()
    bilinear = mode == "linear" and at in ("half_pixel", "pytorch_half_pixel", "align_corners")
    if not whole or not (bilinear or (mode, at, options["nearest_mode"]) == nearest):
        file.refuse(f"Resize in mode {mode!r}, {at}, by {scales.tolist()}")
    factors = _short([int(scale) for scale in scales[2:]])
    return file.layer(x, layers.Upsample(factors, "bilinear" if bilinear else "nearest", at == "align_corners"))


def _gelu(file: _Reader, name: str) -> _Value:
    x = file.value(name)
    return file.layer(x, layers.GELU(file.options(approximate="none")["approximate"]), features=x.features)


ROWS: Final[Mapping[str, Row]] = {
    "Add": _add,
    "AveragePool": _pool(layers.AvgPool2d, count_include_pad=0),
    "BatchNormalization": _batch_norm,
    "Concat": _concat,
    "Conv": _conv,
    "ConvTranspose": _conv_transpose,
    "Dropout": _dropout,
    "Elu": _elementwise(layers.ELU, alpha=1.0),
    "Flatten": _flatten,
    "Gelu": _gelu,
    "Gemm": _gemm,
    "GlobalAveragePool": _global_average,
    "HardSigmoid": _hard_sigmoid,
    "HardSwish": _elementwise(layers.Hardswish),
    "Identity": _identity,
    "LayerNormalization": _layer_norm,
    "LeakyRelu": _elementwise(layers.LeakyReLU, alpha=0.01),
    "LogSoftmax": _softmax(layers.LogSoftmax),
    "MatMul": _matmul,
    "MaxPool": _pool(layers.MaxPool2d, dilations=[1, 1]),
    "Mul": _mul,
    "PRelu": _prelu,
    "Pad": _pad,
    "ReduceMean": _reduce_mean,
    "Relu": _elementwise(layers.ReLU),
    "Reshape": _reshape,
    "Resize": _resize,
    "Selu": _elementwise(layers.SELU),
    "Sigmoid": _elementwise(layers.Sigmoid),
    "Softmax": _softmax(layers.Softmax),
    "Softplus": _elementwise(layers.Softplus),
    "Squeeze": _squeeze,
    "Tanh": _elementwise(layers.Tanh),
    "Transpose": _transpose,
}
