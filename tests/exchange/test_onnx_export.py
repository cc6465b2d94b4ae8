"""ONNX files: each layer's, of chains and of models written by hand, run by ONNX's own reference and by
ONNX Runtime.
"""

import inspect
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from effort import very_expensive
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jaxtyping import Float
from onnx.reference import ReferenceEvaluator

from tests.layer_cases import CASES, LayerCase
from typednn import (
    AnyArray,
    Array2,
    Elementwise,
    ElementwiseGrad,
    Gradient,
    GraphElementwise,
    Input,
    Layer,
    Module,
    Parameter,
    S,
    layers,
)
from typednn.engines import using
from typednn.errors import ArgumentError, DataError, MissingExtra, NotInitialised
from typednn.exchange import export_onnx, tracing
from typednn.exchange.onnx import export
from typednn.exchange.onnx.export import OPERATIONS
from typednn.exchange.onnx.layers import LAYERS
from typednn.graph import sigmoid
from typednn.graph.tensor import AnyTensor
from typednn.layer import A
from typednn.layers import (
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    Dropout,
    Linear,
    LinearGrad,
    MaxPool2d,
    ReLU,
    SequenceLinear,
    Tanh,
)
from typednn.models import GPT2, LeNet5, lenet5, lstm_classifier, resnet18, unet
from typednn.module.stack import Stack

RNG = np.random.default_rng

# What ONNX's own reference, 1.23, does not compute: ReLU in an RNN, and lengths of sequences. ONNX Runtime does.
NOT_IN_THE_REFERENCE = {"RNN of relu", "GRU with lengths", "LSTM with lengths"}
# Layers whose forward is looked into.
OF_LAYERS = {layers.Concat, layers.PerPosition, layers.Repeat, layers.Residual}


def reference(path: Path) -> Callable[[dict[str, Any]], Any]:
    evaluator = ReferenceEvaluator(str(path))
    return lambda feeds: evaluator.run(None, feeds)[0]  # type: ignore[no-any-return]


def runtime(path: Path) -> Callable[[dict[str, Any]], Any]:
    import onnxruntime

    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return lambda feeds: session.run(None, feeds)[0]


def compare(model: Any, path: Path, open_file: Callable[[Path], Any], *inputs: Any) -> None:
    """The file gives the numbers of the model in eval, to 1e-5."""
    arrays = [each for each in inputs if each is not None]
    names = ["x"] if len(arrays) == 1 else [f"x{place}" for place in range(len(arrays))]
    found = open_file(path)(dict(zip(names, arrays, strict=True)))
    expected = model.eval().forward(*inputs)
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() <= 1e-5 * max(1.0, np.abs(expected).max())


def test_every_layer_has_a_row() -> None:
    classes = {
        each for name in layers.__all__ if inspect.isclass(each := getattr(layers, name)) and issubclass(each, Module)
    }
    assert classes - OF_LAYERS == set(LAYERS)


def test_every_operation_that_is_traced_has_a_row() -> None:
    assert set(OPERATIONS) == tracing.UFUNCS | tracing.OTHERS


@pytest.mark.parametrize("case", [case for case in CASES if case.name not in NOT_IN_THE_REFERENCE], ids=str)
def test_every_layer(case: LayerCase, tmp_path: Path) -> None:
    """On inputs other than the example, by ONNX's reference."""
    subject = case.subject()
    model = subject.ready()
    with using("reference"):
        path = export_onnx(model, tmp_path / "m.onnx", list(subject.arrays()))
        compare(model, path, reference, *subject.arrays(seed=5))


@pytest.mark.parity
@pytest.mark.parametrize("case", CASES, ids=str)
@settings(very_expensive, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_layer_in_onnx_runtime(case: LayerCase, tmp_path: Path, data: st.DataObject) -> None:
    """Of sizes drawn at random."""
    subject = case.drawn(data.draw)
    subject = subject if len(subject.inputs[0]) > 1 else case.subject()  # else a batch of samples without an axis
    model: Any = subject.ready()
    with using("reference"):
        path = export_onnx(model, tmp_path / "m.onnx", list(subject.arrays()))
        compare(model, path, runtime, *subject.arrays(seed=5))


def trained(model: Any, *shape: int) -> Any:
    """Filled, with statistics of its own."""
    model.init(RNG(0))
    model.forward(RNG(1).standard_normal(shape, np.float32))
    return model


MODELS: dict[str, Callable[[], Any]] = {
    "lenet5": lambda: lenet5(rng=RNG(0)),
    "LeNet5": lambda: LeNet5(rng=RNG(0)),
    "resnet18": lambda: trained(resnet18(10, image=(16, 16, 3)), 2, 16, 16, 3),
    "unet": lambda: unet(image=(8, 8, 2), rng=RNG(0)),
    "lstm": lambda: lstm_classifier(2, rng=RNG(0)),
    "stack": lambda: Stack(lenet5(rng=RNG(0))),
    "mlp": lambda: trained(Input(4) >> Linear(4, 3) >> BatchNorm1d(3) >> Tanh() >> Dropout(0.5) >> Linear(3, 2), 5, 4),
    "image to image": lambda: trained(
        Input(5, 4, 2) >> Conv2d(2, 3, 3, padding=1) >> BatchNorm2d(3) >> ReLU() >> Conv2d(3, 2, 1), 3, 5, 4, 2
    ),
}


def inputs_of(model: Any, batch: int) -> Any:
    shape = (28, 28, 1) if isinstance(model, LeNet5) else (784,) if isinstance(model, Stack) else model.sample.sizes
    if len(shape) == 1 and shape[0] == 128:
        return RNG(3).integers(0, 5, (batch, *shape))
    return RNG(3).standard_normal((batch, *shape), np.float32)


@pytest.mark.parity
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("batch", [1, 7])
def test_models_in_onnx_runtime(name: str, batch: int, tmp_path: Path) -> None:
    """The shape of a sample is known, of the batch none."""
    with using("reference"):  # kernels of each size would be compiled
        model = MODELS[name]()
        path = export_onnx(model, tmp_path / "m.onnx")
        compare(model, path, runtime, inputs_of(model, batch))
    assert [each.name for each in tmp_path.iterdir()] == ["m.onnx"]


@pytest.mark.parametrize("name", ["LeNet5", "mlp"])
def test_models(name: str, tmp_path: Path) -> None:
    model = MODELS[name]()
    path = export_onnx(model, tmp_path / "folder" / "m.onnx")
    compare(model, path, reference, inputs_of(model, 2))
    whole = onnx.load(str(path))
    assert [(each.domain, each.version) for each in whole.opset_import] == [("", 17)]
    assert whole.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert {each.name for each in whole.graph.initializer} >= set(model.named_parameters()) - {"slope"}


def test_training_and_the_model_itself_stay(tmp_path: Path) -> None:
    """Statistics, seeds, mode and what forward kept are as before."""
    model = MODELS["mlp"]()
    x = RNG(3).standard_normal((5, 4), np.float32)
    model.forward(x)
    before = {name: array.copy() for name, array in model.state_dict().items()}
    export_onnx(model, tmp_path / "m.onnx")
    model.backward(np.ones((5, 2), np.float32))
    assert model.training
    assert "forward" not in vars(model)
    assert all(np.array_equal(before[name], array) for name, array in model.state_dict().items())


def test_channels_first(tmp_path: Path) -> None:
    """Images in and out are as ONNX's convolutions have them; no layout changes on the way."""
    model = MODELS["image to image"]().eval()
    path = export_onnx(model, tmp_path / "m.onnx", channels_first=True)
    x = RNG(3).standard_normal((2, 5, 4, 2), np.float32)
    found = reference(path)({"x": np.moveaxis(x, -1, 1)})
    assert np.abs(np.moveaxis(found, 1, -1) - model.forward(x)).max() < 1e-5
    assert "Transpose" not in {node.op_type for node in onnx.load(str(path)).graph.node}


def test_layouts_change_once(tmp_path: Path) -> None:
    """From the image to the first convolution, and before Flatten."""
    path = export_onnx(lenet5(rng=RNG(0)), tmp_path / "m.onnx")
    assert [node.op_type for node in onnx.load(str(path)).graph.node].count("Transpose") == 2


def test_language_models(tmp_path: Path) -> None:
    """Tokens in, a head that is the embedding: its weight is in the file once for each layout that is read."""
    model = GPT2(11, 8, 6, 2, 3, dropout=0.1, rng=RNG(0))
    path = export_onnx(model, tmp_path / "m.onnx", np.array([[1, 2, 3, 4]] * 11))
    compare(model, path, reference, np.array([[4, 3, 2, 10], [0, 0, 1, 5], [1, 1, 1, 1]]))


# ------------------------------------------------------------------ models and layers of a user


@dataclass(frozen=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch 4"]
    fc: LinearGrad


class Net(Layer[Array2, Array2, NetGrad, S]):
    """Arithmetic between calls of a layer; ``formula`` is put in by the tests."""

    def __init__(self, formula: Callable[[Any], Any]) -> None:
        self.fc, self.formula = Linear(4, 4), formula

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch outputs"]:
        y: Array2 = self.formula(self.fc.forward(x))
        return y

    def backward(self, next_grad: Float[Array2, "batch outputs"]) -> NetGrad:
        raise NotImplementedError


FORMULAS: dict[str, Callable[[Any], Any]] = {
    "arithmetic": lambda y: (2.0 * y - y / 3 + y**2) * np.float32(0.5) - 1,
    "negative": lambda y: abs(-y),
    "functions": lambda y: (
        np.exp(-np.square(y)) + np.sqrt(np.abs(y)) + np.log(1 + np.exp(y)) + np.sin(y) * np.cos(y) + np.tanh(y)
    ),
    "choices": lambda y: np.where(y > 0, y, np.minimum(y * 0.1, 0)) + np.maximum(y, 0.25) + np.clip(y, -0.5, 0.5),
    "conditions": lambda y: ((y > -1) & (y < 1) | ~(y >= -2) | (y != 0) & (y <= 3) | (y == 0)).astype(y.dtype),
    "exclusive or": lambda y: ((y > -1) ^ (y > 1)).astype(y.dtype),
    "reductions": lambda y: (
        y
        - y.mean(axis=1, keepdims=True)
        + y.sum(axis=-1)[:, None]
        + y.max(axis=1, keepdims=True)
        - np.min(y, 1, keepdims=True)
    ),
    "variance": lambda y: (
        np.var(y, axis=1, keepdims=True) + np.std(y + 1, axis=1, keepdims=True) + np.reciprocal(2 + np.floor(y) ** 2)
    ),
    "parts": lambda y: np.concatenate([y[:, :2], y[:, ::2], y[..., -1:], y[:, 1][:, None]], axis=1),
    "shapes": lambda y: y.reshape(len(y), 2, 2).transpose(0, 2, 1).swapaxes(1, 2).reshape(y.shape[0], -1) + y,
    "more shapes": lambda y: (
        np.moveaxis(np.expand_dims(y, 1), 1, 2).squeeze(2)
        + np.ravel(y).reshape(y.shape)
        + np.broadcast_to(y[:, :1], y.shape)
    ),
    "products": lambda y: (y @ np.arange(12, dtype=np.float32).reshape(4, 3)) / 10,
    "a batch of matrices": lambda y: (y[:, :, None] @ y[:, None, :]).reshape(len(y), -1),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_arithmetic_between_layers(name: str, tmp_path: Path) -> None:
    model = Net(FORMULAS[name]).init(RNG(0))
    path = export_onnx(model, tmp_path / "m.onnx")
    compare(model, path, reference, RNG(4).standard_normal((5, 4), np.float32))


REFUSED: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a function": (np.cumsum, "got numpy.cumsum; call layers, or operations that"),
    "a ufunc": (np.arctan, "got numpy.arctan;"),
    "options": (lambda y: np.add(y, y, where=False), "got numpy.add with options"),
    "options of a function": (lambda y: np.sum(y, axis=1, initial=1.0), "got numpy.sum with options"),
    "a branch": (lambda y: y if y.sum(axis=1)[0] > 0 else -y, "got a part of the batch"),
    "a branch on a number": (lambda y: y if (y[:, 0] > 0) else -y, "got a function that needs the numbers of an array"),
    "a loop": (lambda y: sum(row for row in y), "got a loop over an array"),
    "over the batch": (lambda y: y - y.mean(axis=0), "got numpy.mean over the batch"),
    "an array made of it": (lambda y: np.array(y), "got a function that needs the numbers of an array"),
    "an assignment": (lambda y: y.__setitem__(0, 1.0), "got an assignment into an array"),
    "an index": (lambda y: y[:, [0, 1]], "got an index that is an array or a list"),
    "a mask": (lambda y: y[y > 0], "got an index that is an array or a list"),
    "backwards": (lambda y: y[:, ::-1], "got a slice that runs backwards"),
    "another array": (lambda y: np.zeros(y.shape, y.dtype), "got an output that is a ndarray"),
    "a method": (lambda y: y.cumsum(axis=1), "got AttributeError: 'Traced' object has no attribute 'cumsum'"),
    "a text": (lambda y: y + "1", "got numpy.add of Traced, str"),
    "a reduction": (lambda y: np.add.reduce(y, axis=1), "got numpy.add.reduce"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_traced_is_named(name: str, tmp_path: Path) -> None:
    formula, message = REFUSED[name]
    model = Net(formula).init(RNG(0))
    with pytest.raises(
        ArgumentError,
        match=r"Net\(.*\)\.forward.*: must be made of layers and operations that can be traced, " + message,
    ):
        export_onnx(model, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("names", [["a", "b", "c"], ["a"], "ab", ["a", 2], {"a": 0, "b": 1}])
def test_names_are_those_of_the_outputs(names: Any, tmp_path: Path) -> None:
    """One text each; nothing is written else."""
    model = (Input(4) >> Linear(4, 2)).init(RNG(0))
    with pytest.raises(
        ArgumentError, match="export_onnx: names are a list of texts, one for each of the 2 outputs, got "
    ) as caught:
        export_onnx(model, tmp_path / "m.onnx", names=names)
    assert caught.value.argument == "names"
    assert not list(tmp_path.iterdir())
    written = onnx.load(str(export_onnx(model, tmp_path / "m.onnx", names=("a", "b"))))
    assert {each.key: each.value for each in written.metadata_props} == {"names": '["a", "b"]'}


def test_the_layer_that_cannot_be_traced_is_named_with_its_place(tmp_path: Path) -> None:
    model = (Input(4) >> Linear(4, 4) >> Net(np.cumsum).named("own")).init(RNG(0))
    with pytest.raises(ArgumentError, match=r'^Net\(.*\)\.forward, layer "own": must be made of'):
        export_onnx(model, tmp_path / "m.onnx")


class Scale(Elementwise[None]):
    """A layer of a user's with an array of its own, and a branch on numbers of the layer."""

    factor: Parameter[Float[AnyArray, " 4"]]

    def __init__(self, twice: bool) -> None:
        self.twice = twice

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        y: A = x * self.factor
        return y + y if self.twice else y

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        raise NotImplementedError


class Swish(GraphElementwise[None]):
    def formula(self, x: Float[AnyTensor, "*shape"]) -> Float[AnyTensor, "*shape"]:
        return x * sigmoid(x)


def test_layers_of_a_user(tmp_path: Path) -> None:
    model = (Input(4) >> Scale(True) >> Swish() >> Linear(4, 4) >> Scale(False)).init(RNG(0))
    path = export_onnx(model, tmp_path / "m.onnx")
    compare(model, path, reference, RNG(4).standard_normal((3, 4), np.float32))
    assert {"0.factor", "3.factor"} <= {each.name for each in onnx.load(str(path)).graph.initializer}


# ------------------------------------------------------------------ what is refused, and what is lost by it: nothing


def test_a_batch_that_is_built_in_is_noticed(tmp_path: Path) -> None:
    """Of an example with two samples a size 2 that is not the batch's."""
    model = Net(lambda y: y * np.arange(y.shape[0], dtype=y.dtype)[:, None]).init(RNG(0))
    with pytest.raises(
        ArgumentError, match=r"m\.onnx must give the model's own numbers to 1e-05, got .* for 2 samples"
    ):
        export_onnx(model, tmp_path / "m.onnx")
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_row_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The results are compared before the file is written; what was there stays."""
    path = tmp_path / "m.onnx"
    path.write_text("before")
    monkeypatch.setitem(LAYERS, Tanh, LAYERS[layers.Sigmoid])
    with pytest.raises(
        ArgumentError,
        match=r"^export_onnx, Chain: m\.onnx must give the model's own numbers to 1e-05, got a difference of .* for 2 "
        r"samples",
    ):
        export_onnx((Input(4) >> Linear(4, 3) >> Tanh()).init(RNG(0)), path)
    assert path.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_arguments(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = (Linear(4, 3) >> ReLU()).init(RNG(0))
    with pytest.raises(
        ArgumentError,
        match="export_onnx: needs the shape of a sample, got Chain, which declares none; begin the model with Input",
    ):
        export_onnx(model, path)
    with pytest.raises(ArgumentError, match="export_onnx: inputs are a batch of samples, an array or several, got str"):
        export_onnx(model, path, "x")
    with pytest.raises(ArgumentError, match=r"Chain\.forward: must take the example, got .*4"):
        export_onnx(model, path, np.zeros((2, 5), np.float32))
    with pytest.raises(ArgumentError, match="export_onnx: model is a model of typednn, got str"):
        export_onnx("model", path)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="export_onnx: path must be the name of a file or folder, got None"):
        export_onnx(model, None)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="export_onnx: writes float32 and float64, got float16; convert the model"):
        export_onnx((Input(4) >> Linear(4, 3)).init(RNG(0)).astype(np.float16), path)
    with pytest.raises(NotInitialised):
        export_onnx(Input(4) >> Linear(4, 3), path)
    assert list(tmp_path.iterdir()) == []


def test_objects_that_derive_from_nothing_are_refused(tmp_path: Path) -> None:
    class Own:
        forward = backward = update = init = load_state_dict = lambda *_: None

        def state_dict(self) -> dict[str, Any]:
            return {}

    with pytest.raises(
        ArgumentError,
        match=r'Chain, layer "0": must be made of layers .*, got Own, which derives from no class of typednn',
    ):
        export_onnx(Input(4) >> Own() >> Linear(4, 2, rng=RNG(0)), tmp_path / "m.onnx")  # type: ignore[operator]


def test_float64(tmp_path: Path) -> None:
    model = (Input(4) >> Linear(4, 3) >> SequenceLinear(3, 3) >> Tanh()).init(RNG(0)).astype(np.float64)
    path = export_onnx(model, tmp_path / "m.onnx")
    compare(model, path, reference, RNG(4).standard_normal((3, 4)))


def test_large_weights_stand_beside_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the same folder, under a name that leads nowhere else; both files or none; those of the export before go."""
    monkeypatch.setattr(export, "INLINE", 1000)
    model = MODELS["lenet5"]()

    def exported() -> tuple[Path, str]:
        path = export_onnx(model, tmp_path / "folder" / "m.onnx")
        whole = onnx.load(str(path), load_external_data=False)
        (name,) = {
            entry.value for each in whole.graph.initializer for entry in each.external_data if entry.key == "location"
        }
        assert re.fullmatch(r"m\.onnx\.[0-9a-f]{8}\.data", name)
        assert {each.name for each in path.parent.iterdir()} == {"m.onnx", name}
        return path, name

    path, first = exported()
    compare(model, path, reference, inputs_of(model, 2))
    path, name = exported()
    assert name != first
    content = path.read_bytes()
    monkeypatch.setitem(LAYERS, MaxPool2d, LAYERS[ReLU])
    with pytest.raises(ArgumentError):
        export_onnx(MODELS["lenet5"](), path)
    assert {each.name for each in path.parent.iterdir()} == {"m.onnx", name}
    assert path.read_bytes() == content


def test_a_file_that_names_other_files_takes_none_of_them_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was there under the name may be anybody's: only weights that an export wrote are removed."""
    monkeypatch.setattr(export, "INLINE", 1000)
    path = export_onnx(MODELS["lenet5"](), tmp_path / "m.onnx")
    foreign = onnx.load(str(path))
    onnx.save_model(foreign, str(path), save_as_external_data=True, location="mine.data", size_threshold=0)
    export_onnx(MODELS["lenet5"](), path)
    assert (tmp_path / "mine.data").is_file()


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", full)
    with pytest.raises(DataError, match=r"m\.onnx: must be writable, got No space left on device"):
        export_onnx(MODELS["mlp"](), tmp_path / "m.onnx")


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(
        MissingExtra, match=r"needs the package onnx, got no module named 'onnx'; pip install 'typednn\[onnx\]'"
    ):
        export_onnx(MODELS["mlp"](), tmp_path / "m.onnx")


def test_images_of_the_wrong_rank(tmp_path: Path) -> None:
    """What the example does not fit is told in the words of the model."""
    model: Any = Conv2d(1, 2, 3, rng=RNG(0))
    with pytest.raises(ArgumentError, match=r"Conv2d.*\.forward: must take the example"):
        export_onnx(model, tmp_path / "m.onnx", np.zeros((2, 5, 5), np.float32))
