"""ONNX files as models: graphs by ONNX's helpers, and files of our own export."""

import gc
import itertools
import re
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.exchange.test_onnx_export import FORMULAS, NOT_IN_THE_REFERENCE, Net
from tests.layer_cases import CASES, LayerCase
from typednn import Input
from typednn.arrays import is_array
from typednn.engines import using
from typednn.errors import ArgumentError, DataError, MissingExtra
from typednn.exchange import export_onnx, import_onnx
from typednn.exchange.onnx import export, formula, reader, storage, values, writer
from typednn.exchange.onnx import operators as known
from typednn.exchange.onnx.layers import READS
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU
from typednn.models import GPT2, LeNet5, lenet5, unet
from typednn.testing.gradcheck import gradcheck

RNG = np.random.default_rng


@pytest.fixture(autouse=True)
def without_kernels() -> Iterator[None]:
    """Those of each size would be compiled."""
    with using("reference"):
        yield


def numbers(*shape: int, seed: int = 0) -> Any:
    return RNG(seed).standard_normal(shape, np.float32)


def write(path: Path, nodes: list[Any], sizes: tuple[int, ...], *, opset: int = 20, **weights: Any) -> Path:
    """A file with these nodes from ``x`` to ``y``."""
    arrays = [numpy_helper.from_array(np.asarray(array), name) for name, array in weights.items()]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", *sizes])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "graph", [x], [y], arrays)
    opsets = [helper.make_opsetid(domain, opset) for domain in {"", *(each.domain for each in nodes)}]
    whole = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=9))
    if not whole.graph.output[0].type.tensor_type.HasField("shape"):  # of what ONNX itself does not know
        whole.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch"]))
    onnx.save(whole, str(path))
    return path


def there(x: Any) -> Any:
    """Channels first, as ONNX has images."""
    return np.ascontiguousarray(np.moveaxis(x, -1, 1)) if x.ndim == 4 else x


def compare(path: Path, *sizes: int, batch: int = 3, runs: Any = None) -> Any:
    """The model of a file gives its numbers; ``sizes`` are a sample's here, where it matters."""
    model: Any = import_onnx(path).eval()
    assert not sizes or model.sample.sizes == sizes
    x = RNG(7).standard_normal((batch, *model.sample.sizes), np.float32)
    theirs = [each.dim_value for each in onnx.load(str(path)).graph.input[0].type.tensor_type.shape.dim][1:]
    feeds = {"x": x if list(x.shape[1:]) == theirs else np.ascontiguousarray(np.moveaxis(x, -1, 1))}
    expected = (runs or ReferenceEvaluator(str(path)).run)(None, feeds)[0]
    found = model.forward(x)
    # Here images are channels last, and a batch that is last there is first.
    layouts = [found, there(found), np.moveaxis(found, -1, min(1, found.ndim - 1)), found.T]
    apart = [np.abs(each - expected).max() for each in layouts if each.shape == expected.shape]
    assert min(apart) <= 1e-5 * max(1.0, np.abs(expected).max())
    return model


def node(kind: str, *inputs: str, **attributes: Any) -> Any:
    return helper.make_node(kind, list(inputs or ["x"]), ["y"], kind.lower(), **attributes)


I64 = np.int64
IMAGE = (2, 5, 4)  # channels, height, width
# The operator with its inputs and attributes, a sample there, and its constants.
OPERATORS: dict[str, tuple[Any, tuple[int, ...], dict[str, Any]]] = {
    "Gemm": (node("Gemm", "x", "w", "b", transB=1), (4,), {"w": numbers(3, 4), "b": numbers(3)}),
    "Gemm of scaled matrices": (node("Gemm", "x", "w", "b", alpha=0.5, beta=2.0), (4,),
        {"w": numbers(4, 3), "b": numbers(1, 3)}),
    "Gemm without bias": (node("Gemm", "x", "w"), (4,), {"w": numbers(4, 3)}),
    "MatMul": (node("MatMul", "x", "w"), (4,), {"w": numbers(4, 3)}),
    "MatMul of sequences": (node("MatMul", "x", "w"), (5, 4), {"w": numbers(4, 3)}),
    "Conv": (node("Conv", "x", "w", "b", strides=[2, 1], pads=[1, 0, 1, 0]), IMAGE,
        {"w": numbers(3, 2, 3, 2), "b": numbers(3)}),
    "Conv in groups": (node("Conv", "x", "w", group=2, dilations=[2, 1]), IMAGE, {"w": numbers(4, 1, 2, 2)}),
    "Conv with uneven pads": (node("Conv", "x", "w", pads=[0, 1, 2, 3]), IMAGE, {"w": numbers(3, 2, 3, 2)}),
    "ConvTranspose": (
        node("ConvTranspose", "x", "w", "b", strides=[2, 2], pads=[1, 0, 1, 0], output_padding=[1, 0]),
        IMAGE,
        {"w": numbers(2, 3, 3, 2), "b": numbers(3)},
    ),
    "BatchNormalization": (
        node("BatchNormalization", "x", "w", "b", "m", "v", epsilon=1e-3),
        IMAGE,
        {"w": numbers(2), "b": numbers(2), "m": numbers(2), "v": numbers(2) ** 2},
    ),
    "BatchNormalization of rows": (
        node("BatchNormalization", "x", "w", "b", "m", "v"),
        (3,),
        {"w": numbers(3), "b": numbers(3), "m": numbers(3), "v": numbers(3) ** 2},
    ),
    "LayerNormalization": (node("LayerNormalization", "x", "w", "b"), (5, 3), {"w": numbers(3), "b": numbers(3)}),
    "Relu": (node("Relu"), IMAGE, {}),
    "Sigmoid": (node("Sigmoid"), (4,), {}),
    "Tanh": (node("Tanh"), (4,), {}),
    "Softmax": (node("Softmax", axis=1), (4,), {}),
    "LogSoftmax": (node("LogSoftmax"), (4,), {}),
    "LeakyRelu": (node("LeakyRelu", alpha=0.3), (4,), {}),
    "Elu": (node("Elu", alpha=0.5), (4,), {}),
    "Selu": (node("Selu"), (4,), {}),
    "Gelu": (node("Gelu"), (4,), {}),
    "Gelu of tanh": (node("Gelu", approximate="tanh"), (4,), {}),
    "HardSwish": (node("HardSwish"), (4,), {}),
    "HardSigmoid": (node("HardSigmoid", alpha=1 / 6, beta=0.5), (4,), {}),
    "Softplus": (node("Softplus"), (4,), {}),
    "PRelu": (node("PRelu", "x", "s"), (4,), {"s": numbers(1)}),
    "MaxPool": (node("MaxPool", kernel_shape=[2, 2], strides=[2, 1], pads=[1, 0, 1, 0]), IMAGE, {}),
    "AveragePool": (node("AveragePool", kernel_shape=[2, 2], strides=[1, 2]), IMAGE, {}),
    "AveragePool of the border": (node("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        IMAGE, {}),
    "GlobalAveragePool": (node("GlobalAveragePool"), IMAGE, {}),
    "ReduceMean": (node("ReduceMean", "x", "a", keepdims=0), IMAGE, {"a": np.array([2, 3], I64)}),
    "ReduceMean to a pixel": (node("ReduceMean", "x", "a"), IMAGE, {"a": np.array([-1, -2], I64)}),
    "Dropout": (node("Dropout"), (4,), {}),
    "Resize": (
        node("Resize", "x", "", "s", coordinate_transformation_mode="asymmetric", nearest_mode="floor"),
        IMAGE,
        {"s": np.float32([1, 1, 2, 3])},
    ),
    "Resize between pixels": (node("Resize", "x", "", "s", mode="linear"), IMAGE, {"s": np.float32([1, 1, 2, 2])}),
    "Pad": (node("Pad", "x", "p", "v"), IMAGE, {"p": np.array([0, 0, 1, 2, 0, 0, 3, 0], I64), "v": np.float32(-1.5)}),
    "Pad by the edge": (node("Pad", "x", "p", mode="edge"), IMAGE, {"p": np.array([0, 0, 1, 2, 0, 0, 3, 0], I64)}),
    "Reshape": (node("Reshape", "x", "s"), (12,), {"s": np.array([0, 3, 4], I64)}),
    "Reshape of what is not zero": (node("Reshape", "x", "s", allowzero=1), (12,), {"s": np.array([-1, 3, 4], I64)}),
    "Reshape that copies and counts": (node("Reshape", "x", "s"), (5, 6), {"s": np.array([0, 0, -1, 2], I64)}),
    "PRelu of channels": (node("PRelu", "x", "s"), IMAGE, {"s": numbers(2, 1, 1)}),
    "MaxPool of what is left": (node("MaxPool", kernel_shape=[2, 2], strides=[2, 3], ceil_mode=1), IMAGE, {}),
    "MaxPool with uneven pads": (node("MaxPool", kernel_shape=[2, 2], pads=[0, 0, 1, 1]), IMAGE, {}),
    "MaxPool of sequences": (node("MaxPool", kernel_shape=[2]), (2, 5), {}),
    "AveragePool with uneven pads": (node("AveragePool", kernel_shape=[2, 2], pads=[0, 0, 1, 1]), IMAGE, {}),
    "AveragePool of the same size": (node("AveragePool", kernel_shape=[2, 3], auto_pad="SAME_UPPER"), IMAGE, {}),
    "Conv of the same size": (node("Conv", "x", "w", auto_pad="SAME_UPPER", strides=[2, 1]), IMAGE,
        {"w": numbers(3, 2, 2, 4)}),
    "Conv of the same size, more before": (node("Conv", "x", "w", auto_pad="SAME_LOWER"), IMAGE,
        {"w": numbers(3, 2, 2, 4)}),
    "Conv without padding": (node("Conv", "x", "w", auto_pad="VALID"), IMAGE, {"w": numbers(3, 2, 3, 2)}),
    "Conv of sequences": (node("Conv", "x", "w", "b", pads=[2, 0]), (2, 5), {"w": numbers(3, 2, 3), "b": numbers(3)}),
    "ConvTranspose of sequences": (node("ConvTranspose", "x", "w", strides=[2]), (2, 5), {"w": numbers(2, 3, 3)}),
    "Flatten from the last axis": (node("Flatten", axis=-1), (4,), {}),
    "Softmax of channels": (node("Softmax", axis=1), IMAGE, {}),
    "Softmax of the last": (node("Softmax", axis=-1), (5, 4), {}),
    "Transpose without an order": (node("Transpose"), (4,), {}),
    "Transpose of positions": (node("Transpose", perm=[0, 2, 1]), (5, 4), {}),
    "Clip": (node("Clip", "x", "l", "h"), (4,), {"l": np.float32(-0.5), "h": np.float32(0.3)}),
    "Clip from below": (node("Clip", "x", "l"), (4,), {"l": np.float32(-0.5)}),
    "Clip from above": (node("Clip", "x", "", "h"), IMAGE, {"h": np.float32(0.3)}),
    "Clip by nothing": (node("Clip"), (4,), {}),
    "Pad of two axes": (node("Pad", "x", "p", "", "a"), IMAGE,
        {"p": np.array([1, 2, 0, 1], I64), "a": np.array([-1, 2], I64)}),
    "Pad by reflection": (node("Pad", "x", "p", mode="reflect"), IMAGE, {"p": np.array([0, 0, 1, 2, 0, 0, 3, 0], I64)}),
    "Pad of rows": (node("Pad", "x", "p"), (4,), {"p": np.array([0, 1, 0, 2], I64)}),
    "Resize to sizes": (node("Resize", "x", "", "", "s", axes=[2, 3], mode="linear"), IMAGE,
        {"s": np.array([7, 9], I64)}),
    "Resize to the nearest": (node("Resize", "x", "", "s"), IMAGE, {"s": np.float32([1, 1, 1.5, 2])}),
    "Resize by cubes": (node("Resize", "x", "", "s", mode="cubic"), IMAGE, {"s": np.float32([1, 1, 2, 2])}),
    "Add": (node("Add", "x", "b"), (4,), {"b": numbers(4)}),
    "Add to itself": (node("Add", "x", "x"), (4,), {}),
    "Sub": (node("Sub", "b", "x"), (4,), {"b": numbers(4)}),
    "Mul": (node("Mul", "x", "b"), IMAGE, {"b": numbers(2, 1, 1)}),
    "Div": (node("Div", "x", "b"), (4,), {"b": np.float32([3.0])}),
    "Pow": (node("Pow", "x", "b"), (4,), {"b": np.float32(3.0)}),
    "Max": (node("Max", "x", "b", "x"), (4,), {"b": numbers(4)}),
    "Min": (node("Min", "x", "b"), (4,), {"b": numbers(1)}),
    "Sum": (node("Sum", "x", "b", "x"), (4,), {"b": numbers(4)}),
    "MatMul of a constant first": (node("MatMul", "w", "x"), (4, 5), {"w": numbers(3, 4)}),
    "Concat along a negative axis": (node("Concat", "x", "x", axis=-1), (4,), {}),
    "Concat of heights": (node("Concat", "x", "x", axis=2), IMAGE, {}),
    "Slice": (node("Slice", "x", "s", "e", "a"), (5, 4),
        {name: np.array(n, I64) for name, n in (("s", [1]), ("e", [-1]), ("a", [-1]))}),
    "Gather": (node("Gather", "x", "i", axis=1), (5, 4), {"i": np.array([0, -1, 2], I64)}),
    "Gather of one": (node("Gather", "x", "i", axis=1), (5, 4), {"i": np.array(-1, I64)}),
    "Squeeze": (node("Squeeze", "x", "a"), (1, 4), {"a": np.array([1], I64)}),
    "Unsqueeze": (node("Unsqueeze", "x", "a"), (4,), {"a": np.array([-1], I64)}),
    "Expand": (node("Expand", "x", "s"), (1, 4), {"s": np.array([1, 3, 4], I64)}),
    "Tile": (node("Tile", "x", "s"), (4,), {"s": np.array([1, 2], I64)}),
    "Trilu": (node("Trilu", "x"), (4, 4), {}),
    "CumSum": (node("CumSum", "x", "a"), (4,), {"a": np.array(1, I64)}),
    "GlobalMaxPool": (node("GlobalMaxPool"), IMAGE, {}),
    "GlobalAveragePool of sequences": (node("GlobalAveragePool"), (2, 5), {}),
    "InstanceNormalization": (node("InstanceNormalization", "x", "w", "b"), IMAGE, {"w": numbers(2), "b": numbers(2)}),
    "LayerNormalization of images": (node("LayerNormalization", "x", "w", axis=1), IMAGE, {"w": numbers(2, 5, 4)}),
    "LeakyRelu of images": (node("LeakyRelu"), IMAGE, {}),
    "HardSigmoid of its own": (node("HardSigmoid", alpha=0.3, beta=0.4), (4,), {}),
    "Celu": (node("Celu", alpha=0.5), (4,), {}),
    "Elu of sequences": (node("Elu"), (5, 4), {}),
    **{f"{kind} of numbers": (node(kind), (4,), {}) for kind in (
        "Abs", "Ceil", "Cos", "Cosh", "Erf", "Exp", "Floor", "Mish", "Neg", "Sign", "Sin", "Sinh", "Softsign", "Tan",
        "Round", "Reciprocal", "Identity",
    )},
    **{f"{kind} of rows": (node(kind, "x", *more), (5, 4), weights) for kind, more, weights in (
        ("ReduceSum", ["a"], {"a": np.array([-1], I64)}), ("ReduceMax", ["a"], {"a": np.array([1], I64)}),
        ("ReduceMin", ["a"], {"a": np.array([1, 2], I64)}), ("ReduceProd", ["a"], {"a": np.array([2], I64)}),
        ("ReduceL1", ["a"], {"a": np.array([2], I64)}), ("ReduceL2", ["a"], {"a": np.array([2], I64)}),
        ("ReduceLogSumExp", ["a"], {"a": np.array([2], I64)}), ("ReduceSumSquare", ["a"], {"a": np.array([2], I64)}))},
}  # fmt: skip


# Of which ONNX's own reference, 1.23, gives other shapes or numbers, or none.
NOT_IN_ONNX = {"MaxPool with uneven pads", "an old Resize", "an old Softmax"}


# Of several operators: what compares gives no floats, and an old set of operators says it in another way.
CHAINS: dict[str, tuple[list[tuple[Any, ...]], tuple[int, ...], int, dict[str, Any]]] = {
    "comparisons": (
        [
            ("a", "Greater", ["x", "c"]), ("b", "Less", ["x", "c"]), ("d", "Or", ["a", "b"]),
            ("e", "GreaterOrEqual", ["x", "c"]),
            ("f", "LessOrEqual", ["x", "c"]), ("g", "And", ["e", "f"]), ("h", "Not", ["d"]), ("i", "Xor", ["g", "h"]),
            ("j", "IsNaN", ["x"]),
            ("k", "Or", ["i", "j"]), ("l", "Where", ["a", "x", "c"]), ("m", "Cast", ["k"], {"to": 1}),
                ("y", "Sub", ["l", "m"]),
        ], (4,), 20, {"c": np.float32(0.2)},
    ),
    "places": (
        [
            ("a", "ArgMax", ["x"], {"axis": 1}), ("b", "ArgMin", ["x"], {"axis": 1}), ("c", "Equal", ["a", "b"]),
            ("d", "CastLike", ["c", "x"]),
            ("e", "Softmax", ["x"]), ("f", "GatherElements", ["e", "a"], {"axis": 1}), ("y", "Add", ["f", "d"]),
        ], (4,), 20, {},
    ),
    "sizes of the batch": (
        [
            ("a", "Shape", ["x"]), ("z", "ConstantOfShape", ["a"]), ("b", "Size", ["from"]),
                ("c", "Cast", ["b"], {"to": 1}),
            ("d", "Div", ["x", "c"]), ("e", "Range", ["from", "to", "by"]), ("f", "Mod", ["e", "two"]),
                ("g", "Cast", ["f"], {"to": 1}),
            ("h", "Add", ["d", "g"]), ("y", "Add", ["h", "z"]),
        ], (4,), 20,
            {"from": np.array(0, I64), "to": np.array(4, I64), "by": np.array(1, I64), "two": np.array(2, I64)},
    ),
    "roots and logarithms": ([("a", "Exp", ["x"]), ("b", "Sqrt", ["a"]), ("y", "Log", ["b"])], (4,), 20, {}),
    "a bias behind a Gemm with one": (
        [("a", "Gemm", ["x", "w", "b"]), ("y", "Add", ["a", "c"])], (4,), 20,
        {"w": numbers(4, 3), "b": numbers(3), "c": numbers(3, seed=1)},
    ),
    "a bias behind a Conv": (
        [("a", "Conv", ["x", "w"]), ("y", "Add", ["c", "a"])], IMAGE, 20,
            {"w": numbers(3, 2, 1, 1), "c": numbers(1, 3, 1, 1)},
    ),
    "bounds as attributes": ([("a", "Clip", ["x"], {"min": -0.5, "max": 0.5}), ("y", "Clip", ["a"], {"max": 0.3})],
        (4,), 10, {}),
    "an old Softmax": ([("y", "Softmax", ["x"])], (5, 4), 11, {}),
    "an old Squeeze": ([("a", "Unsqueeze", ["x"], {"axes": [2]}), ("y", "Squeeze", ["a"], {"axes": [2]})], (4,), 11,
        {}),
    "an old Slice": ([("y", "Slice", ["x"], {"axes": [1], "starts": [1], "ends": [3]})], (4,), 9, {}),
    "an old Pad": ([("y", "Pad", ["x"], {"pads": [0, 0, 1, 1, 0, 0, 1, 1], "value": 0.5})], IMAGE, 10, {}),
    "an old Upsample": ([("y", "Upsample", ["x", "s"], {"mode": "nearest"})], IMAGE, 9,
        {"s": np.float32([1, 1, 2, 3])}),
    "an old Resize": ([("y", "Resize", ["x", "s"], {"mode": "nearest"})], IMAGE, 10, {"s": np.float32([1, 1, 2, 3])}),
    "a new GroupNormalization": ([("y", "GroupNormalization", ["x", "w", "b"], {"num_groups": 1})], IMAGE, 21,
        {"w": numbers(2), "b": numbers(2)}),
    "a new RMSNormalization": ([("y", "RMSNormalization", ["x", "w"])], (5, 4), 23, {"w": numbers(4)}),
    "a value twice": ([("a", "Tanh", ["x"]), ("b", "Relu", ["a"]), ("c", "Add", ["b", "x"]), ("y", "Add", ["c", "a"])],
        (4,), 20, {}),
    "the batch moved": ([("a", "Transpose", ["x"]), ("b", "Tanh", ["a"]), ("y", "Transpose", ["b"])], (5, 4), 20, {}),
    "axes reversed at the end": ([("a", "Tanh", ["x"]), ("y", "Transpose", ["a"])], (5, 4), 20, {}),
    "the batch reshaped": (
        [("a", "Reshape", ["x", "s"]), ("b", "MatMul", ["a", "w"]), ("c", "Relu", ["b"]), ("y", "Reshape", ["c", "t"])],
        (5, 4), 20, {"s": np.array([-1, 4], I64), "w": numbers(4, 3), "t": np.array([-1, 5, 3], I64)},
    ),
    "a flattened image": ([("a", "Flatten", ["x"]), ("y", "Exp", ["a"])], IMAGE, 20, {}),
    "nothing": ([("y", "Identity", ["x"])], (4,), 20, {}),
}  # fmt: skip


def chain(*nodes: tuple[Any, ...]) -> list[Any]:
    """Nodes: output, operator, inputs, attributes."""
    return [
        helper.make_node(kind, list(inputs), [output], output, **(more[0] if more else {}))
        for output, kind, inputs, *more in nodes
    ]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, tmp_path: Path) -> None:
    made, there_sizes, weights = OPERATORS[name]
    path = write(tmp_path / "m.onnx", [made], there_sizes, **weights)
    if name not in NOT_IN_ONNX:
        compare(path, *((*there_sizes[1:], there_sizes[0]) if len(there_sizes) == 3 else ()))


@pytest.mark.parity
@pytest.mark.parametrize("name", [*OPERATORS, *CHAINS])
def test_operators_in_onnx_runtime(name: str, tmp_path: Path) -> None:
    """The numbers of ONNX Runtime, which computes what ONNX's own reference does not."""
    import onnxruntime

    made, sizes, *more = OPERATORS.get(name) or CHAINS[name]
    nodes, opset, weights = ([made], 20, more[0]) if name in OPERATORS else (chain(*made), more[0], more[1])
    path = write(tmp_path / "m.onnx", nodes, sizes, opset=opset, **weights)
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    compare(path, runs=onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"]).run)


def test_every_operator_has_a_test() -> None:
    """Here, in the chains below, or in the round trips of our own layers."""
    tested = {name.partition(" ")[0] for name in OPERATORS}
    tested |= {row[1] for nodes, *_ in CHAINS.values() for row in nodes} | {"GRU", "GatherND", "LSTM", "RNN", "Split"}
    assert set(known.OPERATORS) == tested | {"Constant"}
    assert set(READS) <= set(known.OPERATORS)


@pytest.mark.parametrize("name", CHAINS)
def test_chains(name: str, tmp_path: Path) -> None:
    nodes, sizes, opset, weights = CHAINS[name]
    path = write(tmp_path / "m.onnx", chain(*nodes), sizes, opset=opset, **weights)
    if name not in NOT_IN_ONNX:
        compare(path)


@pytest.mark.parity
def test_an_old_softmax_is_over_all_that_follows(tmp_path: Path) -> None:
    """Before opset 13, from the axis on; ONNX's reference computes it as one of today, and the file
    would be refused.
    """
    pytest.importorskip("onnxruntime")
    nodes, sizes, opset, _ = CHAINS["an old Softmax"]
    model: Any = import_onnx(write(tmp_path / "m.onnx", chain(*nodes), sizes, opset=opset)).eval()
    x = numbers(3, *sizes)
    powers = np.exp(x)
    assert np.allclose(model.forward(x), powers / powers.sum(axis=(1, 2), keepdims=True), atol=1e-6)


def test_every_layer_is_one_where_there_is_one(tmp_path: Path) -> None:
    """Biases that are added later are the layer's."""
    for name, expected in {
        "a bias behind a Gemm with one": "Input(4) >> Linear(4, 3)",
        "a bias behind a Conv": "Input(5, 4, 2) >> Conv2d(2, 3, 1, bias=True)",
        "an old Upsample": "Input(5, 4, 2) >> Upsample((2, 3))",
    }.items():
        nodes, sizes, opset, weights = CHAINS[name]
        assert repr(import_onnx(write(tmp_path / "m.onnx", chain(*nodes), sizes, opset=opset, **weights))) == expected


def test_the_docs_list_what_is_read() -> None:
    """docs/exchange.md: operators of layers, then those of formulas; and what float64 has in float32 alone."""
    text = (Path(__file__).parents[2] / "docs" / "exchange.md").read_text()
    for heading, table in (
        ("Operators that may become layers:", READS),
        (f"Operators that a formula can compute, {len(known.OPERATORS)} in all,", known.OPERATORS),
    ):
        listed = text.partition(heading)[2].partition("```text\n")[2].partition("```")[0].split()
        assert listed == sorted(table)
    assert text.partition("ONNX Runtime has `")[2].partition("`")[0].split() == sorted(writer.SINGLE)


def test_a_file_of_one_batch(tmp_path: Path) -> None:
    """Where the batch is a number in the file, the model has any."""
    nodes = chain(
        ("a", "Reshape", ["x", "s"]), ("b", "Tanh", "a"), ("c", "Add", ["b", "o"]), ("y", "Reshape", ["c", "t"])
    )
    weights = {"s": np.array([6, 4], I64), "t": np.array([2, 12], I64), "o": numbers(4)}
    path = of_two(write(tmp_path / "m.onnx", nodes, (3, 4), **weights))
    whole = onnx.load(str(path))
    whole.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 12]))
    onnx.save(whole, str(path))
    x = numbers(5, 3, 4)
    assert np.allclose(import_onnx(path).eval().forward(x), (np.tanh(x) + weights["o"]).reshape(5, 12), atol=1e-6)


def of_two(path: Path) -> Path:
    """The same file with a batch of two."""
    whole = onnx.load(str(path))
    whole.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 2
    onnx.save(whole, str(path))
    return path


@pytest.mark.parametrize(
    ("kind", "gates", "options"), [("GRU", 3, {"linear_before_reset": 1}), ("LSTM", 4, {}), ("RNN", 1, {})]
)
def test_states_of_zeros_in_a_formula(kind: str, gates: int, options: dict[str, Any], tmp_path: Path) -> None:
    """Initial states that are arrays of the file, where the last state is read, which no layer gives."""
    zeros = ["h", "c"] if kind == "LSTM" else ["h"]
    nodes = [
        *chain(("t", "Transpose", ["x"], {"perm": [1, 0, 2]})),
        helper.make_node(kind, ["t", "w", "r", "", "", *zeros], ["", "last"], "cells", hidden_size=3, **options),
        *chain(("y", "Squeeze", ["last", "axes"])),
    ]
    weights = {"w": numbers(1, 3 * gates, 4), "r": numbers(1, 3 * gates, 3), "axes": np.array([0], I64)}
    path = of_two(
        write(
            tmp_path / "m.onnx", nodes, (5, 4), **weights, **{name: np.zeros((1, 2, 3), np.float32) for name in zeros}
        )
    )
    model, x = import_onnx(path).eval(), numbers(2, 5, 4)
    assert np.allclose(model.forward(x), ReferenceEvaluator(str(path)).run(None, {"x": x})[0], atol=1e-5)
    assert sorted(model.named_parameters()) == ["0.r", "0.w"]


def test_work_grows_as_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Operators without a layer: each is computed a few times, however many there are, and all become one class."""
    counts = dict.fromkeys(("evaluate", "formula_of"), 0)

    def counted(owner: Any, name: str) -> None:
        function = getattr(owner, name)

        def count(*arguments: Any) -> Any:
            counts[name] += 1
            return function(*arguments)

        monkeypatch.setattr(owner, name, count)

    counted(formula, "evaluate")
    counted(values, "formula_of")
    found: list[int] = []
    for count in (20, 40):
        names = ["x", *(f"t{place}" for place in range(count - 1)), "y"]
        counts.update(evaluate=0, formula_of=0)
        nodes = chain(*((after, "Abs", [before]) for before, after in itertools.pairwise(names)))
        model = import_onnx(write(tmp_path / "m.onnx", nodes, (4,)))
        assert (len(model), counts["formula_of"]) == (1, 1)
        found.append(counts["evaluate"])
    assert found[1] == 2 * found[0]


def test_a_name_for_the_same_value(tmp_path: Path) -> None:
    """What does nothing between operators of one formula."""
    nodes = chain(("a", "Abs", ["x"]), ("b", "Identity", ["a"]), ("c", "Cast", ["b"], {"to": 1}), ("y", "Exp", ["c"]))
    compare(write(tmp_path / "m.onnx", nodes, (4,)), 4)


def test_a_model_keeps_what_it_reads(tmp_path: Path) -> None:
    """Neither the file, nor arrays of it that no operator of a formula reads."""
    nodes = chain(("a", "Mul", ["x", "w"]), ("b", "Erf", ["a"]), ("y", "Mul", ["b", "half"]))
    path = write(tmp_path / "m.onnx", nodes, (4,), w=numbers(4), half=np.float32(0.5), unread=numbers(3, 3))
    model = import_onnx(path).eval()
    model.forward(numbers(2, 4))
    gc.collect()
    alive = [each for each in gc.get_objects() if type(each) in (reader.Reader, formula.Formula)]
    assert {type(each) for each in alive} == {formula.Formula}
    assert any(set(each.context.constants) == {"half"} for each in alive)
    assert not any(each.known or "unread" in each.context.constants for each in alive)


def test_weights_of_a_formula_learn(tmp_path: Path) -> None:
    """Arrays of the file are parameters, constants are not; derivatives are those of central differences."""
    nodes = chain(
        ("a", "Mul", ["x", "w"]),
        ("b", "Erf", "a"),
        ("half", "Constant", [], {"value_float": 0.5}),
        ("y", "Mul", ["b", "half"]),
    )
    model: Any = import_onnx(write(tmp_path / "m.onnx", nodes, (4,), w=numbers(4))).astype(np.float64)
    assert list(model.named_parameters()) == ["0.w"]
    gradcheck(model, numbers(3, 4).astype(np.float64))


def test_a_flattened_image_before_a_linear(tmp_path: Path) -> None:
    """Features change places, through what works number by number and through a normalisation."""
    nodes = chain(
        ("f", "Flatten", "x"),
        ("n", "BatchNormalization", ["f", "w", "b", "m", "v"]),
        ("r", "Relu", "n"),
        ("d", "Dropout", "r"),
        ("y", "Gemm", ["d", "fc.weight", "c"], {"transB": 1}),
    )
    weights = {
        "w": numbers(12),
        "b": numbers(12),
        "m": numbers(12),
        "v": numbers(12) ** 2,
        "fc.weight": numbers(5, 12),
        "c": numbers(5),
    }
    model = compare(write(tmp_path / "m.onnx", nodes, (2, 3, 2), **weights), 3, 2, 2)
    assert model.names == ("0", "1", "2", "3", "fc")


@pytest.mark.parametrize(
    "sizes",
    [
        chain(("s", "Constant", [], {"value": numpy_helper.from_array(np.array([-1, 12], I64))})),
        chain(("s", "Constant", [], {"value_ints": [0, -1]})),
        chain(
            ("a", "Shape", "x"),
            ("i", "Constant", [], {"value": numpy_helper.from_array(np.array(0, I64))}),
            ("b", "Gather", ["a", "i"]),
            ("z", "Constant", [], {"value_ints": [0]}),
            ("c", "Unsqueeze", ["b", "z"]),
            ("e", "Constant", [], {"value_ints": [-1]}),
            ("s", "Concat", ["c", "e"], {"axis": 0}),
        ),
    ],
    ids=["a size", "a zero", "from the shape"],
)
def test_a_reshape_that_flattens(sizes: list[Any], tmp_path: Path) -> None:
    nodes = [*sizes, *chain(("f", "Reshape", ["x", "s"]), ("y", "MatMul", ["f", "w"]))]
    compare(write(tmp_path / "m.onnx", nodes, (2, 3, 2), w=numbers(12, 4)), 3, 2, 2)


def test_products_and_their_biases(tmp_path: Path) -> None:
    nodes = chain(
        ("p", "MatMul", ["x", "fc.weight"]),
        ("q", "Add", ["b", "p"]),
        ("r", "Tanh", "q"),
        ("s", "MatMul", ["r", "w"]),
        ("y", "Add", ["s", "c"]),
    )
    weights = {"fc.weight": numbers(4, 3), "b": numbers(3), "w": numbers(3, 2), "c": numbers(2)}
    model = compare(write(tmp_path / "m.onnx", nodes, (4,), **weights), 4)
    assert [repr(part) for part in model.parts] == ["Linear(4, 3)", "Tanh()", "Linear(3, 2)"]
    assert model.names == ("fc", "1", "2")


def test_residuals_and_branches(tmp_path: Path) -> None:
    """Added to the input, to a shortcut, joined along the channels, and gated by its own sigmoid."""
    nodes = chain(
        ("a", "Conv", ["x", "w"], {"pads": [1, 1, 1, 1]}),
        ("b", "Relu", "a"),
        ("c", "Add", ["b", "x"]),
        ("d", "Conv", ["c", "v"]),
        ("e", "Conv", ["c", "u"]),
        ("f", "Add", ["d", "e"]),
        ("g", "Sigmoid", "f"),
        ("h", "Mul", ["g", "f"]),
        ("i", "Tanh", "h"),
        ("j", "Concat", ["h", "i", "f2"], {"axis": 1}),
        ("k", "GlobalAveragePool", "j"),
        ("y", "Squeeze", ["k", "axes"]),
    )
    nodes.insert(9, helper.make_node("Identity", ["h"], ["f2"]))
    weights = {
        "w": numbers(2, 2, 3, 3),
        "v": numbers(3, 2, 1, 1),
        "u": numbers(3, 2, 1, 1, seed=1),
        "axes": np.array([2, 3], I64),
    }
    model = compare(write(tmp_path / "m.onnx", nodes, (2, 5, 4), **weights), 5, 4, 2)
    assert [type(part).__name__ for part in model.parts] == [
        "Residual",
        "Residual",
        "SiLU",
        "Concat",
        "AdaptiveAvgPool2d",
        "Flatten",
    ]


@pytest.mark.parametrize(
    "build", [lambda: lenet5(rng=RNG(0)), lambda: LeNet5(rng=RNG(0)), lambda: unet(image=(4, 4, 2), rng=RNG(0))]
)
def test_models_of_our_own_export(build: Callable[[], Any], tmp_path: Path) -> None:
    """Channels last, with every Transpose taken away, and channels first."""
    model = build().eval()
    x = RNG(2).standard_normal((3, *((28, 28, 1) if model.num_parameters() < 100_000 else (4, 4, 2))), np.float32)
    for first in (False, True):
        again = import_onnx(export_onnx(model, tmp_path / "m.onnx", channels_first=first)).eval()
        assert np.abs(again.forward(x) - model.forward(x)).max() < 1e-5


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layers_of_our_own_export(case: LayerCase, tmp_path: Path) -> None:
    """Each comes back with the same numbers, and the same derivatives by its inputs."""
    subject = case.subject()
    arrays = subject.arrays()
    model: Any = subject.ready().eval()
    if case.name in NOT_IN_THE_REFERENCE:
        pytest.importorskip("onnxruntime", reason="ONNX's reference computes no such layer")
    again: Any = import_onnx(export_onnx(model, tmp_path / "m.onnx", list(arrays))).eval()
    given = [each for each in arrays if each is not None]
    expected = model.forward(*arrays)
    assert np.abs(again.forward(*given) - expected).max() < 1e-5
    if any(type(each).__name__.startswith(("BatchNorm", "Dropout", "MultiHead")) for _, each in model.named_modules()):
        return  # which compute another thing in training
    model.train().forward(*arrays)
    again.train().forward(*given)
    ours, theirs = (each.backward(np.ones_like(expected)) for each in (model, again))
    kinds = [name for name in type(ours).__inputs__ if is_array(getattr(ours, name))]
    for name, other in zip(
        kinds, [each for each in type(theirs).__inputs__ if is_array(getattr(theirs, each))], strict=True
    ):
        assert np.abs(getattr(ours, name) - getattr(theirs, other)).max() < 1e-5


@pytest.mark.parametrize("name", FORMULAS)
def test_models_by_hand(name: str, tmp_path: Path) -> None:
    model: Any = Net(FORMULAS[name]).init(RNG(0)).eval()
    x = numbers(5, 4)
    again = import_onnx(export_onnx(model, tmp_path / "m.onnx")).eval()
    assert np.abs(again.forward(x) - model.forward(x)).max() < 1e-5


def test_a_language_model(tmp_path: Path) -> None:
    """Tokens are integers, and the embedding is a layer."""
    model: Any = GPT2(11, 4, 8, 2, 2, rng=RNG(0)).eval()
    tokens = RNG(1).integers(0, 11, (7, 4))
    again: Any = import_onnx(export_onnx(model, tmp_path / "m.onnx", tokens)).eval()
    assert again.sample.dtype is int
    assert repr(again.parts[0]) == "Embedding(11, 8)"
    assert np.abs(again.forward(tokens) - model.forward(tokens)).max() < 1e-5


# ------------------------------------------------------------------ what is refused


REFUSED: dict[str, tuple[list[Any], tuple[int, ...], dict[str, Any], str]] = {
    "an operator": (
        [node("Hardmax")],
        (4,),
        {},
        r"node 'hardmax': each operator is one that is known, .*, got Hardmax; `typednn docs exchange`",
    ),
    "of another domain": ([node("Relu", "x", domain="com.example")], (4,), {}, r"got com\.example\.Relu"),
    "an attribute": (
        [node("CumSum", "x", "a", reverse=1)],
        (4,),
        {"a": np.array(1, I64)},
        "got CumSum that is exclusive or reverse",
    ),
    "three axes": ([node("Conv", "x", "w")], (2, 3, 3), {"w": numbers(2, 2, 1, 1, 1)}, "got Conv"),
    "a resize": (
        [node("Resize", "x", "", "s", coordinate_transformation_mode="tf_crop_and_resize")],
        IMAGE,
        {"s": np.float32([1, 1, 2, 2])},
        "node 'resize': .*, got Resize with coordinate_transformation_mode='tf_crop_and_resize'",
    ),
    "a state": (
        [node("LSTM", "x", "w", "r", "", "", "h", hidden_size=1)],
        (5, 3),
        {"w": numbers(1, 4, 3), "r": numbers(1, 4, 1), "h": numbers(1, 5, 1)},
        "node 'lstm': .*, got LSTM with an initial state",
    ),
    "sizes": (
        chain(("a", "Relu", "x"), ("y", "Gemm", ["a", "w"])),
        (4,),
        {"w": numbers(5, 3)},
        r"node 'y': .*, got Gemm: matmul: .*",
    ),
    "sizes to expand to": (
        [node("Expand", "x", "s")],
        (4,),
        {"s": np.array([1, 3], I64)},
        "node 'expand': .*, got Expand: ",
    ),
    "a shape of other numbers": (
        [node("Reshape", "x", "s")],
        (4,),
        {"s": np.array([0, 3], I64)},
        r"got Reshape of \(4,\) to \[\d+, 3\]",
    ),
    "the cell of an LSTM": (
        [
            *chain(("t", "Transpose", ["x"], {"perm": [1, 0, 2]})),
            helper.make_node("LSTM", ["t", "w", "r"], ["", "", "c"], "cells", hidden_size=1),
            *chain(("y", "Squeeze", ["c", "a"])),
        ],
        (5, 3),
        {"w": numbers(1, 4, 3), "r": numbers(1, 4, 1), "a": np.array([0], I64)},
        "node 'cells': .*, got LSTM whose output 'c' is read",
    ),
    "the mean of a normalisation": (
        [helper.make_node("LayerNormalization", ["x", "w"], ["z", "m"], "norm"), *chain(("y", "Sub", ["z", "m"]))],
        (5, 3),
        {"w": numbers(3)},
        "node 'norm': .*, got LayerNormalization whose output 'm' is read",
    ),
    "the mask of a dropout": (
        [helper.make_node("Dropout", ["x"], ["d", "k"], "drop"), *chain(("y", "Where", ["k", "d", "x"]))],
        (4,),
        {},
        "node 'drop': .*, got Dropout whose output 'k' is read",
    ),
    "a mean as the output": (
        [helper.make_node("LayerNormalization", ["x", "w"], ["z", "y"], "norm")],
        (5, 3),
        {"w": numbers(3)},
        "node 'norm': .*, got LayerNormalization whose output 'y' is read",
    ),
    "a result without a batch": (
        [node("ReduceSum", "x")],
        (4,),
        {},
        "the output depends on the input, and has its batch, got a result without",
    ),
    "a constant": (
        chain(("y", "Identity", "c")),
        (4,),
        {"c": numbers(4)},
        "the output depends on the input, and has its batch, got a constant",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_has_no_counterpart_is_named(name: str, tmp_path: Path) -> None:
    nodes, sizes, weights, message = REFUSED[name]
    path = write(tmp_path / "m.onnx", nodes, sizes, **weights)
    with pytest.raises(ArgumentError, match=message) as caught:
        import_onnx(path)
    assert str(path) in str(caught.value)


def test_inputs_that_are_not_known(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch"])
    for inputs, message in (
        (
            [("x", TensorProto.FLOAT, ["batch", "time"])],
            r"the input 'x' has floats or integers, and known sizes but the batch's, got float32 \['batch', '\?'\]",
        ),
        ([("x", TensorProto.STRING, ["batch", 4])], "got object"),
        ([("x", TensorProto.FLOAT, ["batch"])], r"got float32 \['batch'\]"),
    ):
        infos = [helper.make_tensor_value_info(*each) for each in inputs]
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "graph", infos, [y])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), str(path))
        with pytest.raises(ArgumentError, match=message):
            import_onnx(path)


def sized(*sizes: int) -> Any:
    return np.array(sizes, I64)


SUMMED: list[tuple[Any, ...]] = [("r", "ReduceSum", "c"), ("y", "Add", ["x", "r"])]  # of a constant c, beside the input
ALONG: tuple[Any, ...] = ("y", "ReduceSum", ["c", "a"])  # of a value c, along the axes a
# What a few bytes describe: constants, and values of a sample.
BOMBS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "ConstantOfShape": (chain(("c", "ConstantOfShape", "s"), *SUMMED), {"s": sized(1 << 30)}),
    "Expand": (chain(("c", "Expand", ["o", "s"]), *SUMMED), {"o": numbers(1), "s": sized(1 << 30)}),
    "Tile": (chain(("c", "Tile", ["o", "s"]), *SUMMED), {"o": numbers(1), "s": sized(1 << 30)}),
    "Range": (
        chain(("c", "Range", ["o", "s", "t"]), *SUMMED),
        {"o": np.float32(0), "s": np.float32(1e9), "t": np.float32(1)},
    ),
    "Pad": (chain(("c", "Pad", ["o", "s"]), *SUMMED), {"o": numbers(1), "s": sized(0, 1 << 30)}),
    "Pad by the edge": (
        chain(("c", "Pad", ["o", "s"], {"mode": "edge"}), *SUMMED),
        {"o": numbers(1), "s": sized(0, 1 << 30)},
    ),
    "Concat": (
        chain(
            *((f"c{each + 1}", "Concat", [f"c{each}"] * 2, {"axis": 0}) for each in range(40)),
            ("c", "Identity", ["c40"]),
            *SUMMED,
        ),
        {"c0": numbers(1)},
    ),
    "MatMul": (chain(("c", "MatMul", ["o", "s"]), *SUMMED), {"o": numbers(20000, 1), "s": numbers(1, 20000)}),
    "Gather": (
        chain(
            ("c0", "ConstantOfShape", "s", {"value": numpy_helper.from_array(sized(0))}),
            ("c", "Gather", ["o", "c0"]),
            *SUMMED,
        ),
        {"o": numbers(1, 1000), "s": sized(1 << 20)},
    ),
    "Add": (chain(("c", "Add", ["o", "s"]), *SUMMED), {"o": numbers(20000, 1), "s": numbers(1, 20000)}),
    "Resize": (
        chain(("c", "Resize", ["o", "", "s"]), *SUMMED),
        {"o": numbers(1, 1, 2, 2), "s": np.float32([1, 1, 3e4, 3e4])},
    ),
    "Expand the input": (
        chain(("b", "Reshape", ["x", "q"]), ("c", "Expand", ["b", "s"]), ALONG),
        {"q": sized(-1, 4, 1), "s": sized(1, 4, 1 << 28), "a": sized(2)},
    ),
    "Tile the input": (chain(("c", "Tile", ["x", "s"]), ALONG), {"s": sized(1, 1 << 28), "a": sized(1)}),
    "Pad the input": (chain(("c", "Pad", ["x", "s"]), ALONG), {"s": sized(0, 0, 0, 1 << 30), "a": sized(1)}),
    "Concat the input": (
        chain(
            ("c0", "Identity", "x"),
            *((f"c{each + 1}", "Concat", [f"c{each}"] * 2, {"axis": 1}) for each in range(40)),
            ("c", "Identity", ["c40"]),
            ALONG,
        ),
        {"a": sized(1)},
    ),
    "Pad the image": (
        chain(
            ("b", "Reshape", ["x", "q"]),
            ("c", "Conv", ["b", "w"], {"pads": [30000] * 4}),
            ("y", "GlobalAveragePool", "c"),
        ),
        {"q": sized(-1, 1, 2, 2), "w": numbers(1, 1, 1, 1)},
    ),
    "Resize the image": (
        chain(("b", "Reshape", ["x", "q"]), ("c", "Resize", ["b", "", "s"]), ("y", "GlobalAveragePool", "c")),
        {"q": sized(-1, 1, 2, 2), "s": np.float32([1, 1, 3e4, 3e4])},
    ),
    "ConvTranspose": (
        chain(
            ("b", "Reshape", ["x", "q"]),
            ("c", "ConvTranspose", ["b", "w"], {"strides": [40000] * 2}),
            ("y", "GlobalAveragePool", "c"),
        ),
        {"q": sized(-1, 1, 2, 2), "w": numbers(1, 1, 1, 1)},
    ),
}


@pytest.mark.parametrize("name", BOMBS)
def test_small_files_of_much(name: str, tmp_path: Path) -> None:
    """The memory of what a file describes is known before it is taken."""
    nodes, weights = BOMBS[name]
    path = write(tmp_path / "m.onnx", nodes, (4,), **weights)
    tracemalloc.start()
    try:
        with pytest.raises(
            DataError, match=r"m\.onnx: may take at most 50,000,000 bytes of memory, got [0-9,]{9,}; .* pass limit="
        ):
            import_onnx(path, limit=50_000_000)
        assert tracemalloc.get_traced_memory()[1] < 80_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("sizes", [(1 << 28,), (1 << 40,), (1 << 14, 1 << 14)])
def test_inputs_of_much(sizes: tuple[int, ...], tmp_path: Path) -> None:
    """None is drawn."""
    path = write(tmp_path / "m.onnx", [node("Relu")], sizes)
    with pytest.raises(DataError, match="may take at most 50,000,000 bytes of memory, got "):
        import_onnx(path, limit=50_000_000)


def weights_beside(path: Path) -> Path:
    """The one file with the weights of an ONNX file."""
    (data,) = path.parent.glob(f"{path.name}.*.data")
    return data


def test_weights_in_one_file_count_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many they are: ten arrays of 0.2 MB lie in it, within a limit of 0.5 MB."""
    monkeypatch.setattr(export, "INLINE", 0)
    path = export_onnx(lenet5(rng=RNG(0)), tmp_path / "m.onnx")
    data = weights_beside(path)
    size = data.stat().st_size
    assert len(import_onnx(path, limit=2 * size)) > 1
    with pytest.raises(
        DataError, match=rf"{re.escape(data.name)}: may take at most {size - 1:,} bytes of memory, got {size:,}"
    ):
        import_onnx(path, limit=size - 1)


def test_a_model_that_runs_has_no_limit(tmp_path: Path) -> None:
    """That of its reader is the reader's: a large batch is the user's own."""
    nodes = chain(("a", "Abs", "x"), ("y", "Tile", ["a", "s"]))
    model: Any = import_onnx(write(tmp_path / "m.onnx", nodes, (4,), s=sized(1, 100)), limit=100_000).eval()
    assert model.forward(np.ones((1000, 4), np.float32)).shape == (1000, 400)


@pytest.mark.parametrize(
    ("name", "most", "nodes", "weights", "said"),
    [
        (
            "nodes.FEW",
            3,
            [("c", "Tile", ["o", "s"]), ("y", "Add", ["x", "c"])],
            {"o": numbers(1, 1, 1, 1), "s": sized(1, 1, 1, 1)},
            "Tile whose repeats has 4 numbers",
        ),
        (
            "operators.STEPS",
            100,
            [("o", "ConstantOfShape", "s"), ("c", "MatMul", ["o", "o"]), *SUMMED],
            {"s": sized(5, 5)},
            r"MatMul of constants of the shapes \(5, 5\) and \(5, 5\)",
        ),
        (
            "reader.READINGS",
            0,
            [("c", "Neg", ["o"]), *SUMMED],
            {"o": numbers(5)},
            "more computation of constants than the memory that the reader may take is worth",
        ),
    ],
)
def test_work_on_constants(
    name: str,
    most: int,
    nodes: list[tuple[Any, ...]],
    weights: dict[str, Any],
    said: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = write(tmp_path / "m.onnx", chain(*nodes), (4,), **weights)
    import_onnx(path)
    monkeypatch.setattr(f"typednn.exchange.onnx.{name}", most)
    with pytest.raises(ArgumentError, match=said):
        import_onnx(path)


def test_many_operators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that the output does not need are left out, and of the others there is a largest number."""
    monkeypatch.setattr(storage, "NODES", 20)
    names = [("y", "Relu", "x"), *((f"u{each}", "Relu", [f"u{each - 1}" if each else "x"]) for each in range(30))]
    names += [(f"k{each}", "ConstantOfShape", "s") for each in range(30)]
    assert len(import_onnx(write(tmp_path / "m.onnx", chain(*names), (4,), s=sized(1 << 30)))) == 1
    line = ["x", *(f"t{place}" for place in range(20)), "y"]
    nodes = chain(*((after, "Relu", [before]) for before, after in itertools.pairwise(line)))
    with pytest.raises(DataError, match="a model has at most 20 operators, got 21; build the model by hand"):
        import_onnx(write(tmp_path / "m.onnx", nodes, (4,)))


def test_files_that_are_none(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    whole = export_onnx(lenet5(rng=RNG(0)), path).read_bytes()
    for content in (b"", b"\x80\x04\x95 a pickle", whole[: len(whole) // 2], RNG(0).bytes(300)):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"m\.onnx: must be (an ONNX file|valid ONNX), got "):
            import_onnx(path)
    with pytest.raises(DataError, match="must be a plain file, got a folder"):
        import_onnx(tmp_path)
    with pytest.raises(DataError, match="must be a readable file, got No such file"):
        import_onnx(tmp_path / "none.onnx")
    with pytest.raises(ArgumentError, match="import_onnx: path must be the name of a file or folder, got None"):
        import_onnx(None)  # type: ignore[arg-type]


def refusal(path: Path) -> str:
    """What is said against a file; empty where it is a model."""
    try:
        import_onnx(path)
    except (DataError, ArgumentError) as error:
        return str(error)
    return ""


def test_damaged_files(tmp_path: Path) -> None:
    """With bytes changed at random: typednn's own error, or a model whose results are the file's."""
    path = tmp_path / "m.onnx"
    whole = export_onnx(
        (Input(2, 2, 1) >> Conv2d(1, 2, 2) >> ReLU() >> Flatten() >> Linear(2, 2)).init(RNG(0)), path
    ).read_bytes()
    generator = RNG(1)
    for _ in range(60):
        changed = bytearray(whole)
        changed[generator.integers(len(whole))] ^= 1 << int(generator.integers(8))
        path.write_bytes(changed)
        said = refusal(path)
        assert not said or str(path) in said


@pytest.mark.parametrize(
    "location", ["../weights", "/etc/passwd", "a/../../weights", "..\\weights", "C:\\weights", "link", "", "a\0b"]
)
def test_weights_elsewhere_are_refused(location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing outside the file's folder is read."""
    monkeypatch.setattr(export, "INLINE", 0)
    folder = tmp_path / "folder"
    path = export_onnx(lenet5(rng=RNG(0)), folder / "m.onnx")
    assert np.abs(import_onnx(path).eval().forward(numbers(1, 28, 28, 1))).max() > 0
    weights_beside(path).rename(tmp_path / "weights")
    (folder / "link").symlink_to(tmp_path / "weights")
    whole = onnx.load(str(path), load_external_data=False)
    for tensor in whole.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    path.write_bytes(whole.SerializeToString())
    with pytest.raises(
        DataError, match=r"m\.onnx: weights in another file lie in the folder of the file, or below it, got "
    ):
        import_onnx(path)


def test_weights_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "INLINE", 0)
    path = export_onnx(lenet5(rng=RNG(0)), tmp_path / "m.onnx")
    data = weights_beside(path)
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(DataError, match="must be valid ONNX, got "):
        import_onnx(path)
    data.unlink()
    with pytest.raises(DataError, match=rf"{re.escape(data.name)}: must be a readable file, got No such file"):
        import_onnx(path)


def test_results_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = export_onnx((Input(4, 4, 1) >> MaxPool2d(2) >> Flatten() >> Linear(4, 2)).init(RNG(0)), tmp_path / "m.onnx")
    monkeypatch.setitem(READS, "MaxPool", READS["AveragePool"])
    with pytest.raises(ArgumentError, match=r"the model must give the file's numbers to 1e-05, got a difference of "):
        import_onnx(path)
    monkeypatch.undo()

    def turned(x: Any, weight: Any) -> Any:
        return weight[:, ::-1]

    monkeypatch.setattr(values.Value, "places", turned)
    with (
        using("reference"),
        pytest.raises(ArgumentError, match=r"the model must give the file's numbers to 1e-05, got a difference of "),
    ):
        import_onnx(path)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(
        MissingExtra,
        match=r"import_onnx: needs the package onnx, got no module named 'onnx'; pip install 'typednn\[onnx\]'",
    ):
        import_onnx(tmp_path / "m.onnx")


@pytest.mark.parametrize(
    ("shape", "got"),
    [
        (np.array([0, 3], np.complex64), "complex64, not integers"),
        (np.array([True, True]), "bool, not integers"),
        (np.array([0, 3], np.float32), "computed from the input"),  # floats may be weights
    ],
    ids=["complex64", "bool", "float32"],
)
def test_sizes_that_are_no_integers(tmp_path: Path, shape: Any, got: str) -> None:
    path = write(
        tmp_path / "m.onnx", [helper.make_node("Reshape", ["x", "shape"], ["y"])], (3,), shape=np.array([0, 3])
    )
    whole = onnx.load(str(path))
    whole.graph.initializer[0].CopyFrom(numpy_helper.from_array(shape, "shape"))
    path.write_bytes(whole.SerializeToString())
    with pytest.raises(ArgumentError, match=f"Reshape whose shape is {got}"):
        import_onnx(path)


def test_weights_that_are_not_finite(tmp_path: Path) -> None:
    """They are the file's: nothing is said of them."""
    weight = np.array([[np.inf, np.nan], [1, 2]], np.float32)
    node = helper.make_node("Gemm", ["x", "weight"], ["y"], alpha=0.0)
    model: Any = import_onnx(write(tmp_path / "m.onnx", [node], (2,), weight=weight))
    assert np.isnan(model.eval()(np.ones((1, 2), np.float32))).tolist() == [[True, True]]
