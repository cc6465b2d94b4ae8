"""A model as an ONNX file: one row for each layer, and one for each operation that may stand between layers.

The forward is traced (`typednn.exchange.tracing`), and each node becomes nodes of ONNX. The file reads what the model
reads: images are batch, height, width, channels, unless ``channels_first`` is set; ONNX's convolutions work channels
first, so that there is a Transpose where the layout changes. The batch is a free size named ``batch``; all other sizes
are those of the example. The arrays of the model are initializers under their own names, numbers that nobody learns are
nodes, Constant.

ONNX Runtime computes some operators in float32 alone. In a file of float64 these stand between two Casts.

Before the file has its name its results are compared with the model's own, for two sizes of a batch. Weights of more
than `INLINE` bytes go into a second file beside it, ``NAME.data``.

Source: the operators of ONNX's standard, opset 17, github.com/onnx/onnx/blob/main/docs/Operators.md.
"""

# Rows are functions of what they export.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

from __future__ import annotations

import copy
import json
import math
import os
import re
import secrets
import shutil
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn, TypeAlias, cast, final

import numpy as np

from typednn import layers
from typednn.arrays import is_array
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, explain, optional
from typednn.exchange.checked import check_model
from typednn.exchange.tracing import POINTWISE, Node, Traced, example, trace
from typednn.files import path_of, remove_leftovers, sync_folder, temporary_name, write_whole, writing
from typednn.kernels.positions import add_sines, rotate
from typednn.module.module import Module

OPSET: Final = 17
IR_VERSION: Final = 8  # the one of opset 17's time, which older runtimes read
INLINE: Final = (1 << 31) - (1 << 24)  # bytes of weights in the file itself; it may have 2 GiB
TOLERANCE: Final = 1e-5  # of the largest number, or of 1 where that is smaller
EXTRA: Final = "pip install 'typednn[onnx]'"

# What ONNX Runtime 1.31 computes in float32 alone, and how many inputs of each are such floats.
SINGLE: Final[Mapping[str, int]] = {
    "AveragePool": 1, "Conv": 3, "ConvTranspose": 3, "Elu": 1, "Erf": 1, "GRU": 4, "HardSigmoid": 1, "HardSwish": 1,
    "LSTM": 4, "RNN": 4,
    "Resize": 1, "Selu": 1, "Softplus": 1,
}  # fmt: skip


class Out(NamedTuple):
    """What a row gives: a name in the file, and whether its axes are channels first."""

    name: str
    first: bool = False


Row: TypeAlias = "Callable[..., Out | Traced]"


def export_onnx(
    model: Module,
    path: str | os.PathLike[str],
    inputs: Any = None,
    *,
    channels_first: bool = False,
    names: Sequence[str] = (),
) -> Path:
    """Write ``model``, in eval, into an ONNX file that gives the same numbers to 1e-5 in ONNX Runtime; the path of the
    file.

    ``inputs`` is an example batch, one array or several, which a model needs that declares no input.
    ``channels_first``: images and outputs that are images are batch, channels, height, width in the file. ``names`` are
    those of a classifier's outputs, in their order; they become the file's metadata ``names``, a list in JSON.

    An `ArgumentError` names a layer or an operation without a counterpart, and refuses a model whose file would give
    other numbers, or could not be run; then nothing is written. Of a model of float64, what ONNX Runtime has for
    float32 alone is computed so. `MissingExtra` without the package ``onnx``.
    """
    place = path_of("export_onnx", path)
    onnx: Any = optional("onnx", "export_onnx", "needs the package onnx", EXTRA)
    check_model("export_onnx", model)
    if model.dtype == np.float16:
        rule, cure = "writes float32 and float64", "convert the model: model.astype(numpy.float32)"
        raise ArgumentError(explain("export_onnx", rule, "float16", cure), "model")
    batch = example("export_onnx", model, inputs)
    file = _File(onnx, model, channels_first)
    found = trace(model, batch, lambda layer: type(layer) in LAYERS)
    file.begin(found.inputs)
    for node in found.nodes:
        file.add(node)
    whole = file.finish(found.output)
    if names:
        outputs = found.output.shape[-1] if found.output.ndim > 1 else 1
        given = [*names] if isinstance(cast("object", names), list | tuple) else []
        if len(given) != outputs or not all(isinstance(cast("object", each), str) for each in given):
            rule, got = f"names are a list of texts, one for each of the {outputs} outputs", repr(names)[:80]
            raise ArgumentError(explain("export_onnx", rule, got), "names")
        onnx.helper.set_model_props(whole, {"names": json.dumps(list(names))})
    if file.bytes <= INLINE:
        content = whole.SerializeToString()
        _check(model, place, batch, lambda: opened_onnx(content, strict=True), channels_first)
        write_whole(place, content)
    else:
        _write_apart(
            onnx,
            whole,
            place,
            lambda at: _check(model, place, batch, lambda: opened_onnx(str(at), strict=True), channels_first),
        )
    return place


# ------------------------------------------------------------------ the file


def _host(value: Any) -> np.ndarray[Any, Any]:
    """An array, or a number as one."""
    return np.asarray(to_numpy(value) if is_array(value) else value)


def _order(rank: int, first: bool) -> list[int]:
    """The axes in the order that has channels first, or that has them last again."""
    return [0, rank - 1, *range(1, rank - 1)] if first else [0, *range(2, rank), 1]


@final
class _File:
    """The nodes of a file so far, and under which names and in which layouts the values of a trace stand in it."""

    def __init__(self, onnx: Any, model: Module, channels_first: bool) -> None:
        self.onnx = onnx
        self.model = model
        self.channels_first = channels_first
        self.nodes: list[Any] = []
        self.constants: dict[str, np.ndarray[Any, Any]] = {}
        self.bytes = 0
        self.known: dict[Any, str] = {}  # names of constants: of those with a key, and of arrays of the model
        self.names = {id(array): name for name, array in model.state_dict().items()}
        self.forms: dict[int, dict[bool, str]] = {}  # of each value its names, channels first or not
        self.heads: list[Any] = []
        self.path = ""
        self.layer: Any = model
        self.batch = 1

    def begin(self, inputs: Sequence[Traced]) -> None:
        """Declare what the file reads."""
        self.batch = len(inputs[0])
        for name, value in zip(_names(len(inputs)), inputs, strict=True):
            first = self.channels_first and value.ndim == 4
            self.heads.append(self.described(name, value, first))
            self.forms[id(value)] = {first: name}

    def described(self, name: str, value: Traced, first: bool) -> Any:
        """The entry of an input or output, its batch free."""
        sizes = [value.shape[axis] for axis in _order(value.ndim, True)] if first else list(value.shape)
        helper = self.onnx.helper
        return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), ["batch", *sizes[1:]])

    def add(self, node: Node) -> None:
        """The nodes of one layer or operation."""
        self.path = node.path
        row: Any = LAYERS[type(node.what)] if isinstance(node.what, Module) else OPERATIONS[node.what]
        if isinstance(node.what, Module):
            self.layer = node.what
            made = row(self, node.what, *node.inputs)
        else:
            made = row(self, node, *node.inputs)
        if isinstance(made, Traced):  # nothing was done
            self.forms[id(node.output)] = self.forms[id(made)]
        else:
            self.forms[id(node.output)] = {made.first: made.name}

    def finish(self, output: Traced) -> Any:
        """The whole model, checked by ONNX's own rules."""
        onnx, first = self.onnx, self.channels_first and output.ndim == 4
        self.path = ""
        self.nodes.append(onnx.helper.make_node("Identity", [self.read(output, first)], ["y"], "y"))
        weights = [onnx.numpy_helper.from_array(array, name) for name, array in self.constants.items()]
        graph = onnx.helper.make_graph(self.nodes, "typednn", self.heads, [self.described("y", output, first)], weights)
        opsets = [onnx.helper.make_opsetid("", OPSET)]
        whole = onnx.helper.make_model(graph, producer_name="typednn", ir_version=IR_VERSION, opset_imports=opsets)
        if self.bytes <= INLINE:
            try:
                onnx.checker.check_model(whole, full_check=True)
            except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:  # a row is wrong
                got = str(error).strip().partition("\n")[0]
                raise ArgumentError(
                    explain(f"export_onnx, {self.model.label()}", "must be valid ONNX", got), "model"
                ) from None
        return whole

    # -------------------------------------------------------------- what rows use

    def read(self, value: Any, first: bool = False) -> str:
        """The name under which ``value`` stands with its channels last, or first; constants are written as they are."""
        if not isinstance(value, Traced):
            return self.constant(value)
        forms = self.forms[id(value)]
        first = first and value.ndim > 2
        if value.ndim <= 2:
            return next(iter(forms.values()))
        if first not in forms:
            forms[first] = self.node("Transpose", forms[not first], perm=_order(value.ndim, first))
        return forms[first]

    def layout(self, *values: Any) -> bool:
        """Whether to compute with these values channels first: where all are at hand so, and nothing
        has to be turned.
        """
        return all(isinstance(value, Traced) and value.ndim > 2 and True in self.forms[id(value)] for value in values)

    def node(self, kind: str, *inputs: str, outputs: Any = 1, **attributes: Any) -> Any:
        """A new node; the name of its result, or of each of several."""
        single = kind in SINGLE and self.model.dtype == np.float64
        if single:
            given = [
                self.plain("Cast", name, to=_FLOAT) if name and place < SINGLE[kind] else name
                for place, name in enumerate(inputs)
            ]
            return self.plain("Cast", self.plain(kind, *given, **attributes), to=_DOUBLE)
        return self.plain(kind, *inputs, outputs=outputs, **attributes)

    def plain(self, kind: str, *inputs: str, outputs: Any = 1, **attributes: Any) -> Any:
        """The same, as it is."""
        name = f"{self.path or type(self.layer).__name__}/{kind}_{len(self.nodes)}"
        names = [name] if outputs == 1 else [f"{name}_{place}" for place in range(outputs)]
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), names, name, **attributes))
        return name if outputs == 1 else names

    def constant(
        self, value: Any, change: Callable[[Any], Any] | None = None, key: Any = None, *, learnt: bool = False
    ) -> str:
        """The name of an array in the file; one of the model is written once, under its own name, for each ``key`` of a
        ``change``.

        ``learnt``: it was made of arrays of the model.
        """
        array = _host(value)
        known = (id(value), key) if id(value) in self.names else None
        if known in self.known:
            return self.known[known]
        made = np.asarray(array if change is None else change(array), order="C")
        self.bytes += made.nbytes
        base = getattr(value, "base", None)
        if known is None and not learnt and id(base) not in self.names:
            name: str = self.plain("Constant", value=self.onnx.numpy_helper.from_array(made))
            return name
        own = (
            self.names.get(id(value)) or self.names.get(id(base)) or f"{self.path or type(self.layer).__name__}/weight"
        )
        name = own if own not in self.constants else f"{own}_{len(self.constants)}"
        self.constants[name] = made
        if known is not None:
            self.known[known] = name
        return name

    def number(self, value: float, like: Traced) -> str:
        """The name of a number of the dtype of ``like``."""
        return self.constant(np.asarray(value, like.dtype))

    def integers(self, *values: int) -> str:
        """The name of a list of integers."""
        return self.constant(np.array(values, np.int64))

    def reshaped(self, name: str, *sizes: int) -> str:
        """``name`` under another shape of a sample."""
        reshaped: str = self.node("Reshape", name, self.integers(-1, *sizes))
        return reshaped


# ------------------------------------------------------------------ layers


def _elementwise(kind: str, **attributes: Any) -> Row:
    def row(file: _File, layer: Any, x: Traced) -> Out:
        first = file.layout(x)
        return Out(file.node(kind, file.read(x, first), **attributes), first)

    return row


def _of_settings(kind: str, **names: str) -> Row:
    """An elementwise operator whose attributes are settings of the layer."""

    def row(file: _File, layer: Any, x: Traced) -> Any:
        return _elementwise(kind, **{name: float(getattr(layer, own)) for name, own in names.items()})(file, layer, x)

    return row


def _linear(file: _File, layer: Any, x: Traced) -> Out:
    if x.ndim == 2:
        biases = [] if layer.bias is None else [file.constant(layer.bias)]
        return Out(file.node("Gemm", file.read(x), file.constant(layer.weight), *biases, transB=1))
    return Out(_affine(file, file.read(x), layer.weight, layer.bias))


def _affine(file: _File, x: str, weight: Any, bias: Any) -> str:
    """x weightᵀ + bias, of the last axis."""
    y: str = file.node("MatMul", x, file.constant(weight, np.transpose, "transposed", learnt=True))
    if bias is not None:
        y = file.node("Add", y, file.constant(bias, learnt=True))
    return y


def _channels_first(array: Any) -> Any:
    """A window's weights as ONNX has them: channels before the window."""
    return np.moveaxis(array, -1, 1)


def _window(file: _File, kind: str, layer: Any, x: Traced, **attributes: Any) -> Out:
    biases = [] if layer.bias is None else [file.constant(layer.bias)]
    weight = file.constant(layer.weight, _channels_first, "channels first")
    return Out(file.node(kind, file.read(x, True), weight, *biases, group=layer.groups, **attributes), True)


def _conv2d(file: _File, layer: Any, x: Traced) -> Out:
    left, right, top, bottom = layer.padding
    pads = [top, left, bottom, right]
    return _window(file, "Conv", layer, x, strides=list(layer.stride), dilations=list(layer.dilation), pads=pads)


def _conv1d(file: _File, layer: Any, x: Traced) -> Out:
    return _window(file, "Conv", layer, x, strides=[layer.stride], dilations=[layer.dilation], pads=list(layer.padding))


def _conv_transpose2d(file: _File, layer: Any, x: Traced) -> Out:
    sizes = {
        "strides": layer.stride,
        "dilations": layer.dilation,
        "pads": layer.padding * 2,
        "output_padding": layer.output_padding,
    }
    return _window(file, "ConvTranspose", layer, x, **{name: list(values) for name, values in sizes.items()})


def _pool(file: _File, kind: str, layer: Any, x: Traced, **attributes: Any) -> Out:
    window = {"kernel_shape": list(layer.kernel_size), "strides": list(layer.stride), "pads": list(layer.padding) * 2}
    return Out(file.node(kind, file.read(x, True), **window, **attributes), True)


def _max_pool2d(file: _File, layer: Any, x: Traced) -> Out:
    return _pool(file, "MaxPool", layer, x, dilations=list(layer.dilation))


def _avg_pool2d(file: _File, layer: Any, x: Traced) -> Out:
    return _pool(file, "AveragePool", layer, x, count_include_pad=int(layer.count_include_pad))


def _global_avg_pool2d(file: _File, layer: Any, x: Traced) -> Out:
    first = file.layout(x)
    return Out(file.node("ReduceMean", file.read(x, first), axes=[2, 3] if first else [1, 2], keepdims=0))


def _adaptive_avg_pool2d(file: _File, layer: Any, x: Traced) -> Out:
    """Means of windows that may overlap are products with two matrices."""
    rows, columns = (
        _means(size, windows, x.dtype) for size, windows in zip(x.shape[1:3], layer.output_size, strict=True)
    )
    down = file.node("MatMul", file.constant(rows), file.read(x, True))
    return Out(file.node("MatMul", down, file.constant(columns.T)), True)


def _means(size: int, windows: int, dtype: Any) -> Any:
    """What makes the means of windows of ``size`` numbers: a row for each."""
    matrix = np.zeros((windows, size), dtype)
    for window in range(windows):
        start, stop = window * size // windows, -(-(window + 1) * size // windows)
        matrix[window, start:stop] = 1 / (stop - start)
    return matrix


def _upsample(file: _File, layer: Any, x: Traced) -> Out:
    scales = file.constant(np.array([1, 1, *layer.scale_factor], np.float32))
    modes = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    if layer.mode == "bilinear":
        modes = {
            "mode": "linear",
            "coordinate_transformation_mode": "align_corners" if layer.align_corners else "half_pixel",
        }
    return Out(file.node("Resize", file.read(x, True), "", scales, **modes), True)


def _pad2d(file: _File, layer: Any, x: Traced) -> Out:
    left, right, top, bottom = layer.padding
    widths = file.integers(0, 0, top, left, 0, 0, bottom, right)
    value = [] if layer.mode == "replicate" else [file.number(layer.value, x)]
    return Out(
        file.node("Pad", file.read(x, True), widths, *value, mode="edge" if layer.mode == "replicate" else "constant"),
        True,
    )


def _batch_norm(file: _File, layer: Any, x: Traced) -> Out:
    features, dtype = layer.num_features, x.dtype
    weight = file.constant(np.ones(features, dtype) if layer.weight is None else layer.weight)
    bias = file.constant(np.zeros(features, dtype) if layer.bias is None else layer.bias)
    if layer.running_mean is not None:
        statistics = file.constant(layer.running_mean), file.constant(layer.running_var)
        return Out(
            file.node("BatchNormalization", file.read(x, True), weight, bias, *statistics, epsilon=layer.eps), True
        )
    return _scaled(file, _normalised(file, file.read(x), list(range(x.ndim - 1)), layer.eps, x), weight, bias)


def _normalised(file: _File, x: str, axes: list[int], eps: float, like: Traced) -> str:
    """``x`` with mean 0 and variance 1 over ``axes``."""
    centred = file.node("Sub", x, file.node("ReduceMean", x, axes=axes, keepdims=1))
    variance = file.node("ReduceMean", file.node("Mul", centred, centred), axes=axes, keepdims=1)
    normal: str = file.node("Div", centred, file.node("Sqrt", file.node("Add", variance, file.number(eps, like))))
    return normal


def _scaled(file: _File, x: str, weight: str | None, bias: str | None) -> Out:
    x = x if weight is None else file.node("Mul", x, weight)
    return Out(x if bias is None else file.node("Add", x, bias))


def _group_norm(file: _File, layer: Any, x: Traced) -> Out:
    _, height, width, channels = x.shape
    groups = file.reshaped(file.read(x, True), layer.num_groups, channels // layer.num_groups * height * width)
    whole = file.reshaped(_normalised(file, groups, [2], layer.eps, x), channels, height, width)
    if layer.weight is None:
        return Out(whole, True)
    by_channel: Callable[[Any], Any] = lambda array: array.reshape(-1, 1, 1)  # noqa: E731
    weight, bias = (file.constant(array, by_channel, "by channel") for array in (layer.weight, layer.bias))
    return Out(_scaled(file, whole, weight, bias).name, True)


def _layer_norm(file: _File, layer: Any, x: Traced) -> Out:
    weight = file.constant(np.ones(layer.normalized_shape, x.dtype) if layer.weight is None else layer.weight)
    biases = [] if layer.bias is None else [file.constant(layer.bias)]
    return Out(file.node("LayerNormalization", file.read(x), weight, *biases, axis=-1, epsilon=layer.eps))


def _rms_norm(file: _File, layer: Any, x: Traced) -> Out:
    eps, name = float(np.finfo(x.dtype).eps) if layer.eps is None else layer.eps, file.read(x)
    squares = file.node("ReduceMean", file.node("Mul", name, name), axes=[-1], keepdims=1)
    root = file.node("Sqrt", file.node("Add", squares, file.number(eps, x)))
    return _scaled(
        file, file.node("Div", name, root), None if layer.weight is None else file.constant(layer.weight), None
    )


def _flatten(file: _File, layer: Any, x: Traced) -> Out:
    end = layer.end_dim % x.ndim + 1
    sizes = [*x.shape[1 : layer.start_dim], math.prod(x.shape[layer.start_dim : end]), *x.shape[end:]]
    return Out(file.reshaped(file.read(x), *sizes))


def _gelu(file: _File, layer: Any, x: Traced) -> Out:
    first = file.layout(x)
    name = file.read(x, first)
    if layer.approximate == "tanh":
        cube = file.node("Mul", file.node("Mul", name, name), name)
        inner = file.node("Add", name, file.node("Mul", cube, file.number(0.044715, x)))
        bent = file.node("Tanh", file.node("Mul", inner, file.number(math.sqrt(2 / math.pi), x)))
    else:
        bent = file.node("Erf", file.node("Mul", name, file.number(math.sqrt(0.5), x)))
    half = file.node("Mul", name, file.number(0.5, x))
    return Out(file.node("Mul", half, file.node("Add", bent, file.number(1.0, x))), first)


def _silu(file: _File, layer: Any, x: Traced) -> Out:
    first = file.layout(x)
    return Out(file.node("Mul", file.read(x, first), file.node("Sigmoid", file.read(x, first))), first)


def _softplus(file: _File, layer: Any, x: Traced) -> Out:
    first = file.layout(x)
    name = file.read(x, first)
    scaled = file.node("Mul", name, file.number(layer.beta, x))
    straight = file.node("Greater", scaled, file.number(layer.threshold, x))
    # Where it is straight the exponential may overflow: it gets a 0 there.
    bent = file.node("Softplus", file.node("Where", straight, file.number(0.0, x), scaled))
    return Out(file.node("Where", straight, name, file.node("Div", bent, file.number(layer.beta, x))), first)


def _prelu(file: _File, layer: Any, x: Traced) -> Out:
    first = file.layout(x)
    return Out(file.node("PRelu", file.read(x, first), file.constant(layer.slope)), first)


def _glu(file: _File, layer: Any, x: Traced) -> Out:
    half = x.shape[-1] // 2
    value, gate = file.node("Split", file.read(x), file.integers(half, half), outputs=2, axis=x.ndim - 1)
    return Out(file.node("Mul", value, file.node("Sigmoid", gate)))


def _embedding(file: _File, layer: Any, x: Traced) -> Out:
    return Out(file.node("Gather", file.constant(layer.weight), file.read(x), axis=0))


def _learned_positions(file: _File, layer: Any, x: Traced) -> Out:
    return Out(
        file.node("Add", file.read(x), file.constant(layer.weight, lambda weight: weight[: x.shape[1]], x.shape[1]))
    )


def _sinusoidal_positions(file: _File, layer: Any, x: Traced) -> Out:
    return Out(
        file.node("Add", file.read(x), file.constant(add_sines(cast("Any", np.zeros((1, *x.shape[1:]), x.dtype)))[0]))
    )


def _last_step(file: _File, layer: Any, x: Traced, lengths: Any = None) -> Out:
    if lengths is None:
        return Out(file.node("Gather", file.read(x), file.constant(np.array(x.shape[1] - 1)), axis=1))
    last = file.node("Sub", file.node("Cast", file.read(lengths), to=_INT64), file.constant(np.array(1)))
    return Out(file.node("GatherND", file.read(x), file.node("Unsqueeze", last, file.integers(1)), batch_dims=1))


_FLOAT, _INT32, _INT64, _DOUBLE = 1, 6, 7, 11  # TensorProto's numbers

# Blocks of the parameters in ONNX's order, by their places in ours: i, f, g, o become i, o, f, g; r, u, n become u, r,
# n.
_BLOCKS: Final[Mapping[str, tuple[int, ...]]] = {"LSTM": (0, 3, 1, 2), "GRU": (1, 0, 2), "RNN": (0,)}


def _recurrent(file: _File, layer: Any, x: Traced, lengths: Any = None, *, kind: str, **attributes: Any) -> Out:
    def turned(array: Any) -> Any:
        blocks = np.split(array, len(_BLOCKS[kind]))
        return np.concatenate([blocks[place] for place in _BLOCKS[kind]])[None]

    weights = [file.constant(array, turned, "blocks") for array in (layer.weight_ih, layer.weight_hh)]
    biases = ""
    if layer.bias_ih is not None:
        biases = file.constant(np.concatenate([turned(layer.bias_ih), turned(layer.bias_hh)], axis=1), learnt=True)
    more = [biases] if lengths is None else [biases, file.node("Cast", file.read(lengths), to=_INT32)]
    steps = file.node("Transpose", file.read(x), perm=[1, 0, 2])
    y = file.node(kind, steps, *weights, *more, hidden_size=layer.hidden_size, **attributes)
    return Out(file.node("Transpose", file.node("Squeeze", y, file.integers(1)), perm=[1, 0, 2]))


def _rnn(file: _File, layer: Any, x: Traced, lengths: Any = None) -> Out:
    activation = {"tanh": "Tanh", "relu": "Relu"}[layer.nonlinearity]
    return _recurrent(file, layer, x, lengths, kind="RNN", activations=[activation])


def _attention(file: _File, layer: Any, x: Traced, memory: Any = None, mask: Any = None) -> Out:
    read = x if memory is None else memory
    size, heads = layer.embed_dim, layer.num_heads
    features = size // heads
    apart = layer.q_proj_weight, layer.k_proj_weight, layer.v_proj_weight
    weights = apart if layer.in_proj_weight is None else np.split(to_numpy(layer.in_proj_weight), 3)
    biases = (None,) * 3 if layer.in_proj_bias is None else np.split(to_numpy(layer.in_proj_bias), 3)
    projected: list[str] = []
    for given, weight, bias in zip((x, read, read), weights, biases, strict=True):
        by_head = file.reshaped(_affine(file, file.read(given), weight, bias), given.shape[1], heads, features)
        if layer.rotary and len(projected) < 2:
            by_head = _rotated(file, by_head, given, features)
        projected.append(by_head)
    q = file.node("Transpose", projected[0], perm=[0, 2, 1, 3])
    k = file.node("Transpose", projected[1], perm=[0, 2, 3, 1])
    v = file.node("Transpose", projected[2], perm=[0, 2, 1, 3])
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
    return Out(_affine(file, mixed, layer.out_proj_weight, layer.out_proj_bias))


def _rotated(file: _File, x: str, like: Traced, features: int) -> str:
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


LAYERS: Final[dict[type, Row]] = {
    layers.AdaptiveAvgPool2d: _adaptive_avg_pool2d,
    layers.AvgPool2d: _avg_pool2d,
    layers.BatchNorm1d: _batch_norm,
    layers.BatchNorm2d: _batch_norm,
    layers.Conv1d: _conv1d,
    layers.Conv2d: _conv2d,
    layers.ConvTranspose2d: _conv_transpose2d,
    layers.Dropout: lambda file, layer, x: x,
    layers.Dropout2d: lambda file, layer, x: x,
    layers.ELU: _of_settings("Elu", alpha="alpha"),
    layers.Embedding: _embedding,
    layers.Flatten: _flatten,
    layers.GELU: _gelu,
    layers.GLU: _glu,
    layers.GRU: partial(_recurrent, kind="GRU", linear_before_reset=1),
    layers.GlobalAvgPool2d: _global_avg_pool2d,
    layers.GroupNorm: _group_norm,
    layers.Hardsigmoid: _elementwise("HardSigmoid", alpha=1 / 6, beta=0.5),
    layers.Hardswish: _elementwise("HardSwish"),
    layers.Identity: lambda file, layer, x: x,
    layers.LSTM: partial(_recurrent, kind="LSTM"),
    layers.LastStep: _last_step,
    layers.LayerNorm: _layer_norm,
    layers.LeakyReLU: _of_settings("LeakyRelu", alpha="negative_slope"),
    layers.LearnedPositions: _learned_positions,
    layers.Linear: _linear,
    layers.LogSoftmax: _elementwise("LogSoftmax", axis=-1),
    layers.MaxPool2d: _max_pool2d,
    layers.MultiHeadAttention: _attention,
    layers.PReLU: _prelu,
    layers.Pad2d: _pad2d,
    layers.RMSNorm: _rms_norm,
    layers.RNN: _rnn,
    layers.ReLU: _elementwise("Relu"),
    layers.Reshape: lambda file, layer, x: Out(file.reshaped(file.read(x), *layer.shape)),
    layers.SELU: _elementwise("Selu"),
    layers.SequenceLinear: _linear,
    layers.SiLU: _silu,
    layers.Sigmoid: _elementwise("Sigmoid"),
    layers.SinusoidalPositions: _sinusoidal_positions,
    layers.Softmax: _elementwise("Softmax", axis=-1),
    layers.Softplus: _softplus,
    layers.Tanh: _elementwise("Tanh"),
    layers.Upsample: _upsample,
}


# ------------------------------------------------------------------ operations between layers


def _of_arrays(kind: str, of: str = "result") -> Row:
    """A function of each number; its inputs get the dtype of the ``result``, or what NumPy gives them ``together``."""

    def row(file: _File, node: Node, *inputs: Any) -> Out:
        values = [each.value if isinstance(each, Traced) else each for each in inputs]
        dtype = node.output.dtype if of == "result" else np.result_type(*values)
        first = file.layout(*inputs) and len({each.shape for each in inputs}) == 1
        return Out(file.node(kind, *(_as(file, each, dtype, first) for each in inputs)), first)

    return row


def _as(file: _File, value: Any, dtype: np.dtype[Any], first: bool = False) -> str:
    """The name of a value or of a constant in that dtype."""
    if isinstance(value, Traced):
        name = file.read(value, first)
        kind: int = file.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        return name if value.dtype == dtype else file.node("Cast", name, to=kind)
    array = _host(value)
    repeated = [size == file.batch and not stride for size, stride in zip(array.shape, array.strides, strict=True)]
    if any(repeated):  # for each sample the same
        array = array[tuple(slice(1) if each else slice(None) for each in repeated)]
    elif array.size and array.ndim and (array == array.flat[0]).all():
        # one number, which may have been made for each sample
        array = array.reshape(-1)[:1].reshape([1] * array.ndim)
    return file.constant(value if array is value and array.dtype == dtype else array.astype(dtype))


def _not_equal(file: _File, node: Node, *inputs: Any) -> Out:
    return Out(file.node("Not", _of_arrays("Equal", "together")(file, node, *inputs).name))  # type: ignore[union-attr]


def _reduced(kind: str) -> Row:
    def row(file: _File, node: Node, x: Traced) -> Out:
        axes, keep = list(node.options["axes"]), int(node.options["keepdims"])
        if kind == "ReduceSum":
            return Out(file.node(kind, file.read(x), file.integers(*axes), keepdims=keep))
        return Out(file.node(kind, file.read(x), axes=axes, keepdims=keep))

    return row


def _concatenate(file: _File, node: Node, *inputs: Any) -> Out:
    rank, axis = node.output.ndim, node.options["axis"]
    first = axis == rank - 1 and file.layout(*inputs)
    return Out(
        file.node(
            "Concat", *(_whole(file, each, node.output.dtype, first) for each in inputs), axis=1 if first else axis
        ),
        first,
    )


def _whole(file: _File, value: Any, dtype: np.dtype[Any], first: bool) -> str:
    return _as(file, value, dtype, first) if isinstance(value, Traced) else file.constant(np.asarray(value, dtype))


def _getitem(file: _File, node: Node, x: Traced) -> Out:
    axes, starts, stops, steps = (file.integers(*values) for values in zip(*node.options["cuts"], strict=True))
    return Out(file.node("Slice", file.read(x), starts, stops, axes, steps))


def _reshape(file: _File, node: Node, x: Traced) -> Out:
    """The first size that can be the batch's, or a multiple of it, stays free."""
    sizes = list(node.output.shape)
    free = next((axis for axis, size in enumerate(sizes) if size % file.batch == 0), 0)
    return Out(file.node("Reshape", file.read(x), file.integers(*sizes[:free], -1, *sizes[free + 1 :])))


def _broadcast(file: _File, node: Node, x: Traced) -> Out:
    sizes = [1 if size == file.batch else size for size in node.output.shape]  # what follows repeats it where it must
    return Out(file.node("Expand", file.read(x), file.integers(*sizes)))


def _where(file: _File, node: Node, condition: Any, x: Any, y: Any) -> Out:
    dtype = node.output.dtype
    return Out(file.node("Where", _as(file, condition, np.dtype(np.bool_)), _as(file, x, dtype), _as(file, y, dtype)))


OPERATIONS: Final[dict[str, Row]] = {
    **{
        name: _of_arrays(each.row.onnx, "together" if each.row.takes == "any" else "result")
        for name, each in POINTWISE.items()
    },
    "matmul": _of_arrays("MatMul"),
    "minimum": _of_arrays("Min"),
    "square": lambda file, node, x: _of_arrays("Mul")(file, node, x, x),
    "less_equal": _of_arrays("LessOrEqual", "together"),
    "not_equal": _not_equal,
    "logical_not": _of_arrays("Not"),
    "isnan": _of_arrays("IsNaN", "together"),
    "concatenate": _concatenate,
    "reshape": _reshape,
    "transpose": lambda file, node, x: Out(file.node("Transpose", file.read(x), perm=list(node.options["order"]))),
    "broadcast_to": _broadcast,
    "where": _where,
    "sum": _reduced("ReduceSum"),
    "mean": _reduced("ReduceMean"),
    "max": _reduced("ReduceMax"),
    "min": _reduced("ReduceMin"),
    "astype": lambda file, node, x: Out(_as(file, x, node.output.dtype)),
    "getitem": _getitem,
}


# ------------------------------------------------------------------ comparison, and writing


def opened_onnx(content: bytes | str, *, strict: bool = False) -> Callable[[Mapping[str, Any]], Any]:
    """What runs a file, from its bytes or its path: ONNX Runtime, or where that is not installed ONNX's reference.

    So does one that ONNX Runtime cannot run, such as an operator without a kernel, unless ``strict``.
    """
    # Otherwise the import writes an id of the device and a database of events into the user's home folder.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    try:
        runtime: Any = import_module("onnxruntime")
    except ImportError:
        return _in_the_reference(content)
    options: Any = runtime.SessionOptions()
    options.log_severity_level = 4

    @cache
    def session() -> Any:
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])

    def run(feeds: Mapping[str, Any]) -> Any:
        try:
            return session().run(None, dict(feeds))[0]
        except Exception:  # its errors have no common class of their own
            if strict:
                raise
        return _in_the_reference(content)(feeds)

    return run


def _in_the_reference(content: bytes | str) -> Callable[[Mapping[str, Any]], Any]:
    evaluator: Any = import_module("onnx.reference").ReferenceEvaluator(content)

    def run(feeds: Mapping[str, Any]) -> Any:
        with np.errstate(all="ignore"):  # ONNX Runtime says nothing of numbers that are not finite either
            return evaluator.run(None, dict(feeds))[0]

    return run


def _check(
    model: Module,
    place: Path,
    batch: Sequence[Any],
    opened: Callable[[], Callable[[Mapping[str, Any]], Any]],
    channels_first: bool,
) -> None:
    """Raise unless the file gives the model's own numbers, for two numbers of samples of the example."""
    ours: Any = copy.copy(model).eval()
    arrays = [each for each in batch if is_array(each)]
    size, names = len(arrays[0]), _names(len(arrays))

    def refuse(got: str, samples: int, cure: str = "") -> NoReturn:
        rule = f"{place.name} must give the model's own numbers to {TOLERANCE}"
        raise ArgumentError(
            explain(f"export_onnx, {model.label()}", rule, f"{got} for {samples} samples", cure), "model"
        ) from None

    for times in (2, 3) if size > 3 else (size, 2 * size):
        given = [
            np.concatenate([each, each])[:times] if is_array(each) and len(each) == size else each for each in batch
        ]
        expected = to_numpy(ours.forward(*given))
        feeds = {
            name: np.ascontiguousarray(np.moveaxis(each, -1, 1) if channels_first and each.ndim == 4 else each)
            for name, each in zip(names, filter(is_array, given), strict=True)
        }
        try:
            found = np.asarray(opened()(feeds))
        except Exception as error:  # of whatever runs it
            cure = (
                "with the package onnxruntime more of ONNX runs; what takes sizes from the batch must say so: "
                "x.reshape(len(x), ...)"
            )
            refuse((str(error).strip().partition("\n")[0] or type(error).__name__)[:200], times, cure)
        found = np.moveaxis(found, 1, -1) if channels_first and found.ndim == 4 else found
        if found.shape != expected.shape:
            refuse(
                f"shape {found.shape} instead of {expected.shape}",
                times,
                "sizes that are taken from the batch must stay sizes of it",
            )
        apart = difference(found, expected)
        if apart > TOLERANCE:
            refuse(
                f"a difference of {apart:.2g}",
                times,
                "a branch of forward that depends on numbers is written as the example takes it",
            )


def difference(found: Any, expected: Any) -> float:
    """How far two arrays are apart, in units of the largest number, or of 1 where that is smaller; infinite where one
    is not finite.
    """
    finite = np.isfinite(expected)
    if found.shape != expected.shape or not np.array_equal(finite, np.isfinite(found)):
        return math.inf
    return float(
        np.abs(found[finite] - expected[finite]).max(initial=0.0) / max(1.0, np.abs(expected[finite]).max(initial=0.0))
    )


def _names(inputs: int) -> list[str]:
    """What the inputs of a file are called."""
    return ["x"] if inputs == 1 else [f"x{place}" for place in range(inputs)]


def _write_apart(onnx: Any, whole: Any, place: Path, check: Callable[[Path], None]) -> None:
    """Write a file and one of its weights beside it, ``NAME.….data``, once ``check`` has passed.

    Each version has a file of weights of its own, which is there before the graph that names it. The one before goes
    afterwards.
    """
    data, folder = f"{place.name}.{secrets.token_hex(4)}.data", temporary_name(place)
    with writing(place):
        place.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(place)
        folder.mkdir()
        try:
            onnx.save_model(
                whole, str(folder / place.name), save_as_external_data=True, location=data, size_threshold=1024
            )
            check(folder / place.name)
            before = _weights_of(onnx, place)
            os.replace(folder / data, place.with_name(data))
            os.replace(folder / place.name, place)
            sync_folder(place.parent)
            for name in before:
                place.with_name(name).unlink(missing_ok=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _weights_of(onnx: Any, place: Path) -> set[str]:
    """The files of weights that an earlier export of this name has; none where there is another file, or no file."""
    try:
        tensors = onnx.load_model(str(place), load_external_data=False).graph.initializer
    except Exception:  # of whatever reads it
        return set()
    names = {entry.value for tensor in tensors for entry in tensor.external_data if entry.key == "location"}
    return {name for name in names if re.fullmatch(rf"{re.escape(place.name)}(\.[0-9a-f]{{8}})?\.data", name)}
