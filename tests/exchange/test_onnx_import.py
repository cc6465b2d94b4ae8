"""ONNX files as models: graphs by ONNX's helpers, files of our own export, and nets that PyTorch exported."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnx.reference import ReferenceEvaluator

from tests.layer_cases import CASES, LayerCase
from typednn import Input, Sequential
from typednn.engines import using
from typednn.errors import ArgumentError, DataError, MissingExtra
from typednn.exchange import export_onnx, import_onnx, onnx_export, onnx_import
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU
from typednn.models import LeNet5, lenet5, unet

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


def compare(path: Path, *sizes: int, batch: int = 3) -> Any:
    """The model of a file gives its numbers; ``sizes`` are a sample's here."""
    model = import_onnx(path).eval()
    assert model.sample is not None
    assert model.sample.sizes == sizes
    x = RNG(7).standard_normal((batch, *sizes), np.float32)
    expected = ReferenceEvaluator(str(path)).run(None, {"x": there(x)})[0]
    found = there(model.forward(x))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())
    return model


def node(kind: str, *inputs: str, **attributes: Any) -> Any:
    return helper.make_node(kind, list(inputs or ["x"]), ["y"], kind.lower(), **attributes)


I64 = np.int64
IMAGE = (2, 5, 4)  # channels, height, width
# The operator with its inputs and attributes, a sample there, and its constants.
OPERATORS: dict[str, tuple[Any, tuple[int, ...], dict[str, Any]]] = {
    "Gemm": (node("Gemm", "x", "w", "b", transB=1), (4,), {"w": numbers(3, 4), "b": numbers(3)}),
    "Gemm of scaled matrices": (node("Gemm", "x", "w", "b", alpha=0.5, beta=2.0), (4,), {"w": numbers(4, 3), "b": numbers(1, 3)}),
    "Gemm without bias": (node("Gemm", "x", "w"), (4,), {"w": numbers(4, 3)}),
    "MatMul": (node("MatMul", "x", "w"), (4,), {"w": numbers(4, 3)}),
    "MatMul of sequences": (node("MatMul", "x", "w"), (5, 4), {"w": numbers(4, 3)}),
    "Conv": (node("Conv", "x", "w", "b", strides=[2, 1], pads=[1, 0, 1, 0]), IMAGE, {"w": numbers(3, 2, 3, 2), "b": numbers(3)}),
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
    "AveragePool of the border": (node("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1), IMAGE, {}),
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
}


@pytest.mark.parametrize("name", OPERATORS)
def test_operators(name: str, tmp_path: Path) -> None:
    made, there_sizes, weights = OPERATORS[name]
    path = write(tmp_path / "m.onnx", [made], there_sizes, **weights)
    compare(path, *((*there_sizes[1:], there_sizes[0]) if len(there_sizes) == 3 else there_sizes))


def test_every_operator_has_a_test() -> None:
    tested = {name.partition(" ")[0] for name in OPERATORS} | {"Add", "Concat", "Flatten", "Identity", "Mul", "Squeeze", "Transpose"}
    assert set(onnx_import.ROWS) == tested


def chain(*nodes: tuple[Any, ...]) -> list[Any]:
    """Nodes: output, operator, inputs, attributes."""
    return [helper.make_node(kind, list(inputs), [output], output, **(more[0] if more else {})) for output, kind, inputs, *more in nodes]


def test_a_flattened_image_before_a_linear(tmp_path: Path) -> None:
    """Features change places, through what works number by number and through a normalisation."""
    nodes = chain(
        ("f", "Flatten", "x"),
        ("n", "BatchNormalization", ["f", "w", "b", "m", "v"]),
        ("r", "Relu", "n"),
        ("d", "Dropout", "r"),
        ("y", "Gemm", ["d", "fc.weight", "c"], {"transB": 1}),
    )
    weights = {"w": numbers(12), "b": numbers(12), "m": numbers(12), "v": numbers(12) ** 2, "fc.weight": numbers(5, 12), "c": numbers(5)}
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
    weights = {"w": numbers(2, 2, 3, 3), "v": numbers(3, 2, 1, 1), "u": numbers(3, 2, 1, 1, seed=1), "axes": np.array([2, 3], I64)}
    model = compare(write(tmp_path / "m.onnx", nodes, (2, 5, 4), **weights), 5, 4, 2)
    assert [type(part).__name__ for part in model.parts] == ["Residual", "Residual", "SiLU", "Concat", "AdaptiveAvgPool2d", "Flatten"]


@pytest.mark.parametrize("build", [lambda: lenet5(rng=RNG(0)), lambda: LeNet5(rng=RNG(0)), lambda: unet(image=(4, 4, 2), rng=RNG(0))])
def test_models_of_our_own_export(build: Callable[[], Any], tmp_path: Path) -> None:
    """Channels last, with every Transpose taken away, and channels first."""
    model = build().eval()
    x = RNG(2).standard_normal((3, *((28, 28, 1) if model.num_parameters() < 100_000 else (4, 4, 2))), np.float32)
    for first in (False, True):
        again = import_onnx(export_onnx(model, tmp_path / "m.onnx", channels_first=first)).eval()
        assert np.abs(again.forward(x) - model.forward(x)).max() < 1e-5


# Layers whose operators, as our export writes them, have no counterpart.
ONE_WAY = {
    "AdaptiveAvgPool2d", "GELU", "GELU of tanh", "GLU", "GPT2Block", "GRU",
    "GRU with lengths", "GroupNorm", "LSTM", "LSTM with lengths", "LastStep", "LastStep with lengths", "LearnedPositions",
    "MultiHeadAttention", "PerPosition", "RMSNorm", "RNN", "RNN of relu", "SinusoidalPositions", "Softplus",
    "Identity", "Dropout", "Dropout2d",
}  # fmt: skip


@pytest.mark.parametrize("case", [case for case in CASES if case.stackable and case.configurable], ids=str)
def test_layers_of_our_own_export(case: LayerCase, tmp_path: Path) -> None:
    """Each comes back with the same numbers, or is refused by the operator's name; never another model."""
    subject = case.subject()
    x = subject.arrays()[0]
    model: Any = Sequential([subject.ready().named("it")], input=Input(*x.shape[1:])).eval()
    try:
        path = export_onnx(model, tmp_path / "m.onnx")
    except ArgumentError:
        assert case.name in ("RNN of relu",), "ONNX's reference knows no ReLU there"
        return
    if case.name in ONE_WAY:
        with pytest.raises(ArgumentError, match=r"node '|the output depends on the input"):
            import_onnx(path)
        return
    again: Any = import_onnx(path).eval()
    assert np.abs(again.forward(x) - model.forward(x)).max() < 1e-5


# ------------------------------------------------------------------ what is refused


REFUSED: dict[str, tuple[list[Any], tuple[int, ...], dict[str, Any], str]] = {
    "an operator": ([node("Erf")], (4,), {}, r"node 'erf': each operator has a counterpart among the layers, got Erf; docs/exchange\.md"),
    "of another domain": ([node("Relu", "x", domain="com.example")], (4,), {}, r"got com\.example\.Relu"),
    "a slope for each": ([node("PRelu", "x", "s")], (4,), {"s": numbers(4)}, "node 'prelu': .*, got PRelu with 4 slopes"),
    "an attribute": ([node("MaxPool", kernel_shape=[2, 2], ceil_mode=1)], IMAGE, {}, "got MaxPool with ceil_mode=1"),
    "uneven pads": (
        [node("MaxPool", kernel_shape=[2, 2], pads=[0, 0, 1, 1])],
        IMAGE,
        {},
        r"got MaxPool with pads=\[0, 0, 1, 1\], which differ",
    ),
    "automatic pads": (
        [node("Conv", "x", "w", auto_pad="SAME_UPPER")],
        IMAGE,
        {"w": numbers(3, 2, 3, 2)},
        "got Conv with auto_pad='SAME_UPPER'",
    ),
    "a resize": ([node("Resize", "x", "", "s")], IMAGE, {"s": np.float32([1, 1, 1.5, 2])}, r"got Resize in mode 'nearest', half_pixel, by"),
    "three axes": ([node("GlobalAveragePool")], (2, 5), {}, "got GlobalAveragePool of 1 axes"),
    "softmax of images": ([node("Softmax", axis=1)], IMAGE, {}, "got Softmax along axis 1 of 4"),
    "a constant added": ([node("Add", "x", "b")], (4,), {"b": numbers(4)}, "got Add of a constant that is no bias of a product before it"),
    "a constant first": ([node("MatMul", "w", "x")], (4,), {"w": numbers(3, 2)}, "got MatMul of the constant 'w'"),
    "two values multiplied": (
        chain(("a", "Tanh", "x"), ("y", "Mul", ["a", "x"])),
        (4,),
        {},
        r"node 'y': .*, got Mul, which is not x·Sigmoid\(x\)",
    ),
    "weights that are computed": (
        chain(("a", "Tanh", "x"), ("y", "MatMul", ["x", "a"])),
        (4,),
        {},
        "got MatMul with 'a', which is computed",
    ),
    "a value twice": ([node("Add", "x", "x")], (4,), {}, "got Add of a value to itself"),
    "a branch used twice": (
        chain(("a", "Tanh", "x"), ("b", "Relu", "a"), ("c", "Add", ["b", "x"]), ("y", "Add", ["c", "a"])),
        (4,),
        {},
        "node 'y': .*, got Add of a value that another branch has too",
    ),
    "the batch moved": ([node("Transpose", perm=[1, 0])], (4,), {}, r"got Transpose with perm=\[1, 0\]"),
    "the batch reshaped": (
        chain(("a", "Flatten", "x"), ("y", "Reshape", ["a", "s"])),
        IMAGE,
        {"s": np.array([0, 5, 8], I64)},
        "got Reshape of axes in the order",
    ),
    "sizes": (
        chain(("a", "Relu", "x"), ("y", "Gemm", ["a", "w"])),
        (4,),
        {"w": numbers(5, 3)},
        "node 'y': .*, got Gemm: Linear.* expects 5 features",
    ),
    "concat of heights": (
        chain(("a", "Conv", ["x", "w"]), ("y", "Concat", ["a", "a"], {"axis": 2})),
        IMAGE,
        {"w": numbers(3, 2, 1, 1)},
        "got Concat along axis 2",
    ),
    "a flattened image": ([node("Flatten")], IMAGE, {}, "the output has its features in the order .*, got an image that was flattened"),
    "nothing": ([node("Identity")], (4,), {}, "the output depends on the input, got a constant, or the input itself"),
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
            r"the input 'x' has floats, and known sizes but the batch's, got float32 \['batch', '\?'\]",
        ),
        ([("x", TensorProto.INT64, ["batch", 4])], "got int64"),
        ([("x", TensorProto.FLOAT, ["batch"])], r"got float32 \['batch'\]"),
        ([("x", TensorProto.FLOAT, ["batch", 4]), ("z", TensorProto.FLOAT, ["batch", 4])], "one input and one output, got 2 and 1"),
    ):
        infos = [helper.make_tensor_value_info(*each) for each in inputs]
        graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "graph", infos, [y])
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9), str(path))
        with pytest.raises(ArgumentError, match=message):
            import_onnx(path)


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
    whole = export_onnx((Input(2, 2, 1) >> Conv2d(1, 2, 2) >> ReLU() >> Flatten() >> Linear(2, 2)).init(RNG(0)), path).read_bytes()
    generator = RNG(1)
    for _ in range(60):
        changed = bytearray(whole)
        changed[generator.integers(len(whole))] ^= 1 << int(generator.integers(8))
        path.write_bytes(changed)
        said = refusal(path)
        assert not said or str(path) in said


@pytest.mark.parametrize("location", ["../weights", "/etc/passwd", "a/../../weights", "..\\weights", "C:\\weights", "link", ""])
def test_weights_elsewhere_are_refused(location: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing outside the file's folder is read."""
    monkeypatch.setattr(onnx_export, "INLINE", 0)
    folder = tmp_path / "folder"
    path = export_onnx(lenet5(rng=RNG(0)), folder / "m.onnx")
    assert np.abs(import_onnx(path).eval().forward(numbers(1, 28, 28, 1))).max() > 0
    (folder / "m.onnx.data").rename(tmp_path / "weights")
    (folder / "link").symlink_to(tmp_path / "weights")
    whole = onnx.load(str(path), load_external_data=False)
    for tensor in whole.graph.initializer:
        for entry in tensor.external_data:
            if entry.key == "location":
                entry.value = location
    path.write_bytes(whole.SerializeToString())
    with pytest.raises(DataError, match=r"m\.onnx: weights in another file lie in the folder of the file, or below it, got "):
        import_onnx(path)


def test_weights_that_are_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_export, "INLINE", 0)
    path = export_onnx(lenet5(rng=RNG(0)), tmp_path / "m.onnx")
    content = (tmp_path / "m.onnx.data").read_bytes()
    (tmp_path / "m.onnx.data").write_bytes(content[:100])
    with pytest.raises(DataError, match="must be valid ONNX, got "):
        import_onnx(path)
    (tmp_path / "m.onnx.data").unlink()
    with pytest.raises(DataError, match=r"m\.onnx\.data: must be a readable file, got No such file"):
        import_onnx(path)


def test_results_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = export_onnx((Input(4, 4, 1) >> MaxPool2d(2) >> Flatten() >> Linear(4, 2)).init(RNG(0)), tmp_path / "m.onnx")
    monkeypatch.setattr(onnx_import, "ROWS", {**onnx_import.ROWS, "MaxPool": onnx_import.ROWS["AveragePool"]})
    with pytest.raises(ArgumentError, match="got MaxPool with dilations"):
        import_onnx(path)
    monkeypatch.undo()

    def turned(x: Any, weight: Any) -> Any:
        return weight[:, ::-1]

    monkeypatch.setattr(onnx_import, "_columns", turned)
    with using("reference"), pytest.raises(ArgumentError, match=r"the model must give the file's numbers to 1e-05, got a difference of "):
        import_onnx(path)


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(
        MissingExtra, match=r"import_onnx: needs the package onnx, got no module named 'onnx'; pip install 'typednn\[onnx\]'"
    ):
        import_onnx(tmp_path / "m.onnx")


# ------------------------------------------------------------------ nets that PyTorch exported


def nets(torch: Any) -> dict[str, tuple[Any, tuple[int, ...]]]:
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self, channels: int, out: int, stride: int) -> None:
            super().__init__()
            self.conv1, self.bn1 = nn.Conv2d(channels, out, 3, stride, 1, bias=False), nn.BatchNorm2d(out)
            self.conv2, self.bn2 = nn.Conv2d(out, out, 3, 1, 1, bias=False), nn.BatchNorm2d(out)
            self.short = nn.Conv2d(channels, out, 1, stride, bias=False) if stride > 1 else nn.Identity()

        def forward(self, x: Any) -> Any:
            return torch.relu(self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x))))) + self.short(x))

    class View(nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return x.view(x.size(0), -1)

    class Joined(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Conv2d(3, 2, 1), nn.Conv2d(3, 4, 3, padding=1)

        def forward(self, x: Any) -> Any:
            return torch.cat([self.a(x), self.b(x), x], 1)

    return {
        "lenet": (
            nn.Sequential(
                nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(6, 4, 5), nn.ReLU(), nn.AvgPool2d(2),
                nn.Flatten(), nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 3),
            ),
            (1, 16, 16),
        ),
        "residual": (
            nn.Sequential(nn.Conv2d(3, 4, 3, 1, 1), Block(4, 4, 1), Block(4, 8, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)),
            (3, 8, 8),
        ),
        "joined": (
            nn.Sequential(
                Joined(), nn.SiLU(), nn.MaxPool2d(2), View(), nn.Dropout(), nn.BatchNorm1d(144), nn.Linear(144, 5), nn.LogSoftmax(1)
            ),
            (3, 8, 8),
        ),
        "activations": (
            nn.Sequential(
                nn.ConvTranspose2d(3, 4, 2, 2), nn.ELU(), nn.LeakyReLU(0.2), nn.Sigmoid(), nn.Softplus(), nn.Hardswish(), nn.PReLU(),
                nn.ZeroPad2d((1, 2, 0, 1)), nn.GELU(), nn.Flatten(), nn.Linear(4 * 9 * 11, 4), nn.Softmax(1),
            ),
            (3, 4, 4),
        ),
        "rows": (nn.Sequential(nn.Linear(4, 6), nn.SELU(), nn.BatchNorm1d(6), nn.Hardsigmoid(), nn.Linear(6, 2, bias=False)), (4,)),
    }  # fmt: skip


@pytest.mark.parity
@pytest.mark.parametrize("name", ["lenet", "residual", "joined", "activations", "rows"])
def test_against_pytorch(name: str, tmp_path: Path) -> None:
    """The file that PyTorch writes gives PyTorch's numbers here."""
    import torch

    torch.manual_seed(0)
    net, sizes = nets(torch)[name]
    net.eval()
    with torch.no_grad():
        for array in [*net.parameters(), *(each for each in net.buffers() if each.dtype.is_floating_point)]:
            array.add_(torch.rand_like(array) * 0.2)
    x = torch.randn(3, *sizes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the exporter that needs no other package is the older one
        torch.onnx.export(
            net, (x,), str(tmp_path / "m.onnx"), dynamo=False, opset_version=20, input_names=["x"], dynamic_axes={"x": {0: "batch"}}
        )
    model = import_onnx(tmp_path / "m.onnx").eval()
    ours = model.forward(np.ascontiguousarray(np.moveaxis(x.numpy(), 1, -1)) if x.ndim == 4 else x.numpy())
    expected = net(x).detach().numpy()
    assert np.abs(ours - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())
