"""A model as an ONNX file.

The forward is traced (`typednn.exchange.tracing`), and each node becomes nodes of ONNX, by a row of
`typednn.exchange.onnx.layers` or of `OPERATIONS`. The file reads what the model reads: images are
batch, height, width, channels, unless ``channels_first`` is set; ONNX's convolutions work channels first, so that there
is a Transpose where the layout changes. The batch is a free size named ``batch``; all other sizes are those of the
example. The arrays of the model are initializers under their own names, numbers that nobody learns are nodes, Constant.

Before the file has its name its results are compared with the model's own, for two sizes of a batch. Weights of more
than `INLINE` bytes go into a second file beside it, ``NAME.data``.

Source: the operators of ONNX's standard, opset 17, github.com/onnx/onnx/blob/main/docs/Operators.md.
"""

# Rows are functions of what they export; ONNX's own package says nothing of its types.
# pyright: reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import copy
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias, cast

import numpy as np

from typednn.arrays import is_array
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, explain, optional
from typednn.exchange.checked import check_model
from typednn.exchange.onnx.layers import LAYERS
from typednn.exchange.onnx.preprocessing import DOMAIN, VERSION, Preprocessing
from typednn.exchange.onnx.storage import EXTRA, TOLERANCE, difference, opened_onnx, write_apart
from typednn.exchange.onnx.writer import DOUBLE, Out, Writer, input_names
from typednn.exchange.tracing import POINTWISE, Node, Traced, example, trace
from typednn.files import path_of, write_whole
from typednn.module.module import Module

OPSET: Final = 17
INLINE: Final = (1 << 31) - (1 << 24)  # bytes of weights in the file itself; it may have 2 GiB
IR_VERSION: Final = 8  # the one of opset 17's time, which older runtimes read


def export_onnx(
    model: Module,
    path: str | os.PathLike[str],
    inputs: Any = None,
    *,
    channels_first: bool = False,
    names: Sequence[str] = (),
    preprocessing: Preprocessing | None = None,
) -> Path:
    """Write ``model``, in eval, into an ONNX file that gives the same numbers to 1e-5 in ONNX Runtime; the path of the
    file.

    ``inputs`` is an example batch, one array or several, which a model needs that declares no input.
    ``channels_first``: images and outputs that are images are batch, channels, height, width in the file. ``names`` are
    those of a classifier's outputs, in their order; they become the file's metadata ``names``, a list in JSON.
    ``preprocessing`` is what becomes of data before a model of one input reads them, and of its answers.

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
    batch, state = example("export_onnx", model, inputs), model.state_dict()
    found = trace(model, batch, lambda layer: type(layer) in LAYERS)
    file = Writer(onnx, model, state, found.inputs, channels_first)
    if preprocessing is not None:
        preprocessing.read(file, found.inputs[0])
    for node in found.nodes:
        _add(file, node)
    whole = _finished(file, found.output, preprocessing)
    if names:
        outputs = found.output.shape[-1] if found.output.ndim > 1 else 1
        given = [*names] if isinstance(cast("object", names), list | tuple) else []
        if len(given) != outputs or not all(isinstance(cast("object", each), str) for each in given):
            rule, got = f"names are a list of texts, one for each of the {outputs} outputs", repr(names)[:80]
            raise ArgumentError(explain("export_onnx", rule, got), "names")
        onnx.helper.set_model_props(whole, {"names": json.dumps(list(names))})
    if file.bytes > INLINE:
        write_apart(onnx, whole, place, lambda at: _check(model, place, batch, str(at), channels_first, preprocessing))
    else:
        content = whole.SerializeToString()
        _check(model, place, batch, content, channels_first, preprocessing)
        write_whole(place, content)
    return place


def _add(file: Writer, node: Node) -> None:
    """The nodes of one layer or operation."""
    file.path = node.path
    made: Any
    if isinstance(node.what, Module):
        file.layer = node.what
        made = LAYERS[type(node.what)].write(file, node.what, *node.inputs)
    else:
        made = OPERATIONS[node.what](file, node, *node.inputs)
    # where nothing was done the input comes out
    file.forms[id(node.output)] = file.forms[id(made)] if isinstance(made, Traced) else {made.first: made.name}


def _finished(file: Writer, output: Traced, preprocessing: Preprocessing | None) -> Any:
    """The whole model, checked by ONNX's own rules."""
    onnx, (head, first) = file.onnx, file.described("y", output)
    file.path, answer = "", file.read(output, first)
    if preprocessing is not None and preprocessing.answers_scaled:
        answer = preprocessing.answer(file, answer)
        head.type.tensor_type.elem_type = DOUBLE
    file.nodes.append(onnx.helper.make_node("Identity", [answer], ["y"], "y"))
    weights = [onnx.numpy_helper.from_array(array, name) for name, array in file.constants.items()]
    graph = onnx.helper.make_graph(file.nodes, "typednn", file.heads, [head], weights)
    opsets = [onnx.helper.make_opsetid("", OPSET)]
    if preprocessing is not None and preprocessing.columns:
        opsets.append(onnx.helper.make_opsetid(DOMAIN, VERSION))
    whole = onnx.helper.make_model(graph, producer_name="typednn", ir_version=IR_VERSION, opset_imports=opsets)
    if file.bytes <= INLINE:
        try:
            onnx.checker.check_model(whole, full_check=True)
        except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:  # a row is wrong
            got = str(error).strip().partition("\n")[0]
            where = f"export_onnx, {file.model.label()}"
            raise ArgumentError(explain(where, "must be valid ONNX", got), "model") from None
    return whole


# ------------------------------------------------------------------ operations between layers

Row: TypeAlias = "Callable[..., Out]"  # of the file, the node of the trace and its inputs


def _of_arrays(kind: str, of: str = "result") -> Row:
    """A function of each number; its inputs get the dtype of the ``result``, or what NumPy gives them ``together``."""

    def row(file: Writer, node: Node, *inputs: Any) -> Out:
        values = [each.value if isinstance(each, Traced) else each for each in inputs]
        dtype = node.output.dtype if of == "result" else np.result_type(*values)
        first = file.layout(*inputs) and len({each.shape for each in inputs}) == 1
        return Out(file.node(kind, *(_as(file, each, dtype, first) for each in inputs)), first)

    return row


def _as(file: Writer, value: Any, dtype: np.dtype[Any], first: bool = False) -> str:
    """The name of a value or of a constant in that dtype."""
    if isinstance(value, Traced):
        name = file.read(value, first)
        kind: int = file.onnx.helper.np_dtype_to_tensor_dtype(dtype)
        return name if value.dtype == dtype else file.node("Cast", name, to=kind)
    array = np.asarray(to_numpy(value) if is_array(value) else value)
    repeated = [size == file.batch and not stride for size, stride in zip(array.shape, array.strides, strict=True)]
    if any(repeated):  # for each sample the same
        array = array[tuple(slice(1) if each else slice(None) for each in repeated)]
    elif array.size and array.ndim and (array == array.flat[0]).all():
        # one number, which may have been made for each sample
        array = array.reshape(-1)[:1].reshape([1] * array.ndim)
    return file.constant(value if array is value and array.dtype == dtype else array.astype(dtype))


def _reduced(kind: str) -> Row:
    def row(file: Writer, node: Node, x: Traced) -> Out:
        axes, keep = list(node.options["axes"]), int(node.options["keepdims"])
        if kind == "ReduceSum":
            return Out(file.node(kind, file.read(x), file.integers(*axes), keepdims=keep))
        return Out(file.node(kind, file.read(x), axes=axes, keepdims=keep))

    return row


def _concatenate(file: Writer, node: Node, *inputs: Any) -> Out:
    rank, axis, dtype = node.output.ndim, node.options["axis"], node.output.dtype
    first = axis == rank - 1 and file.layout(*inputs)
    given = (
        _as(file, each, dtype, first) if isinstance(each, Traced) else file.constant(np.asarray(each, dtype))
        for each in inputs
    )
    return Out(file.node("Concat", *given, axis=1 if first else axis), first)


def _getitem(file: Writer, node: Node, x: Traced) -> Out:
    axes, starts, stops, steps = (file.integers(*values) for values in zip(*node.options["cuts"], strict=True))
    return Out(file.node("Slice", file.read(x), starts, stops, axes, steps))


def _reshape(file: Writer, node: Node, x: Traced) -> Out:
    """The first size that can be the batch's, or a multiple of it, stays free."""
    sizes = list(node.output.shape)
    free = next((axis for axis, size in enumerate(sizes) if size % file.batch == 0), 0)
    return Out(file.node("Reshape", file.read(x), file.integers(*sizes[:free], -1, *sizes[free + 1 :])))


def _broadcast(file: Writer, node: Node, x: Traced) -> Out:
    sizes = [1 if size == file.batch else size for size in node.output.shape]  # what follows repeats it where it must
    return Out(file.node("Expand", file.read(x), file.integers(*sizes)))


def _where(file: Writer, node: Node, condition: Any, x: Any, y: Any) -> Out:
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
    "not_equal": lambda file, node, x, y: Out(file.node("Not", _of_arrays("Equal", "together")(file, node, x, y).name)),
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


# ------------------------------------------------------------------ comparison


def _check(
    model: Module,
    place: Path,
    batch: Sequence[Any],
    content: bytes | str,
    channels_first: bool,
    preprocessing: Preprocessing | None,
) -> None:
    """Raise unless the file, its bytes or its path, gives the model's own numbers, for two numbers of samples of the
    example.
    """
    ours: Any = copy.copy(model).eval()
    arrays = [each for each in batch if is_array(each)]
    size, names = len(arrays[0]), input_names(len(arrays))

    for times in (2, 3) if size > 3 else (size, 2 * size):
        given = [
            np.concatenate([each, each])[:times] if is_array(each) and len(each) == size else each for each in batch
        ]
        feeds = dict(zip(names, filter(is_array, given), strict=True))
        if preprocessing is not None:
            feeds, given[0] = preprocessing.sample(given[0])
        expected = to_numpy(ours.forward(*given))
        if preprocessing is not None and preprocessing.answers_scaled:
            expected = preprocessing.in_units(expected)
        feeds = {
            name: np.ascontiguousarray(np.moveaxis(each, -1, 1) if channels_first and each.ndim == 4 else each)
            for name, each in feeds.items()
        }
        got = cure = ""
        try:
            found = np.asarray(opened_onnx(content, strict=True)(feeds))
        except Exception as error:  # of whatever runs it
            got = (str(error).strip().partition("\n")[0] or type(error).__name__)[:200]
            cure = (
                "with the package onnxruntime more of ONNX runs; what takes sizes from the batch must say so: "
                "x.reshape(len(x), ...)"
            )
        else:
            found = np.moveaxis(found, 1, -1) if channels_first and found.ndim == 4 else found
            apart = difference(found, expected)
            if found.shape != expected.shape:
                got = f"shape {found.shape} instead of {expected.shape}"
                cure = "sizes that are taken from the batch must stay sizes of it"
            elif apart > TOLERANCE:
                got = f"a difference of {apart:.2g}"
                cure = "a branch of forward that depends on numbers is written as the example takes it"
        if got:
            where = f"export_onnx, {model.label()}"
            rule = f"{place.name} must give the model's own numbers to {TOLERANCE}"
            raise ArgumentError(explain(where, rule, f"{got} for {times} samples", cure), "model") from None
