"""Wrong turns of people who know PyTorch, Keras, JAX or scikit-learn, and the answers that they get.

Each is run as they would write it. The answer is an error of typednn that says where, the rule, what it got, and the
cure, and the cure names what is right here. A wrong turn that is added to `typednn.errors.habits` belongs into this
table.
"""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import typednn
from typednn import Input, Layer, Sequential, data, layers, losses, optim, training
from typednn.engines import using
from typednn.errors import (
    ArgumentError,
    CallError,
    DataError,
    DeviceError,
    DTypeError,
    MissingImport,
    MissingName,
    ShapeError,
    StackError,
    StateDictError,
    TypednnError,
    habits,
)

# What is written, the error, and what its cure must name.
MODELS = [
    ("model.fit(x, y)", MissingName, "fit(model, loss, optimizer, loader"),
    ("model.compile(optimizer='adam', loss='mse')", MissingName, "arguments of fit"),
    ("model.predict(x)", MissingName, "evaluate(model, x)"),
    ("model.predict_proba(x)", MissingName, "evaluate(model, x)"),
    ("model.evaluate(x, y)", MissingName, "Evaluation(x, y)"),
    ("model.score(x, y)", MissingName, "Evaluation(x, y)"),
    ("model.summary()", MissingName, "print(model)"),
    ("model.count_params()", MissingName, "num_parameters()"),
    ("model.zero_grad()", MissingName, "nothing accumulates"),
    ("model.cuda()", MissingName, 'model.to("cuda")'),
    ("model.cpu()", MissingName, 'model.to("cpu")'),
    ("model.half()", MissingName, "astype(numpy.float16)"),
    ("model.double()", MissingName, "astype(numpy.float64)"),
    ("model.float()", MissingName, "astype(numpy.float32)"),
    ("model.requires_grad_(False)", MissingName, "frozen=True"),
    ("model.weight", MissingName, "model[0].weight"),
    ("model.layers", MissingName, "model[0]"),
    ("list(model.modules())", MissingName, "named_modules()"),
    ("model.add(Linear(3, 2))", MissingName, "model >> layer"),
    ("model.get_weights()", MissingName, "named_parameters()"),
    ("model.set_weights([])", MissingName, "load_state_dict"),
    ("model.register_buffer('mean', x)", MissingName, "Buffer["),
    ("model.apply(print)", MissingName, "model.init(rng)"),
    ("model.grad", MissingName, "model.backward("),
    ("model.init()", CallError, "default_rng(0)"),
    ("model.init(seed=0)", CallError, "default_rng(0)"),
    ("model.init(0)", ArgumentError, "default_rng(0)"),
    ("model.load_state_dict('model.pt')", TypednnError, "load_file(path)"),
    ("model @ x", CallError, "model.forward(x)"),
    ("x >> model", StackError, "model.forward(x)"),
    ("model + model", CallError, "Residual"),
    ("model | model", CallError, "a >> b"),
    ("model.forward(x.tolist())", DeviceError, "numpy.asarray(x)"),
    ("model.forward(x.astype(np.float64))", DTypeError, "x.astype(numpy.float32)"),
    ("model.forward(x.astype(np.int64))", DTypeError, "x.astype(numpy.float32)"),
    ("model.forward(x[0])", ShapeError, "x[None]"),
    ("image.forward(np.zeros((2, 1, 8, 8), np.float32))", ShapeError, "x.transpose(0, 2, 3, 1)"),
    ("image.forward(np.zeros((2, 8, 8), np.float32))", ShapeError, "x[..., None]"),
    ("model(x); model.backward(0.5)", DeviceError, "loss.loss_grad(prediction, target)"),
    ("model.eval(); model(x); model.backward(model(x))", TypednnError, "call train()"),
]
STACKS = [
    ("Sequential(Linear(4, 8), ReLU())", CallError, "Sequential([a, b])"),
    ("Input((5,))", ArgumentError, "Input(5)"),
    ("Input([28, 28, 1])", ArgumentError, "Input(28, 28, 1)"),
    ("Input(shape=(5,))", CallError, "Input(28, 28, 1)"),
    ("Input(None, 5)", ArgumentError, "leave the batch out"),
    ("Input(4)(Linear(4, 8))", CallError, "Input(4) >> Linear(4, 8)"),
    ("Input(4) >> Linear(4, 8) >> ReLU", StackError, "call it"),
    ("Input(4) >> Linear(4, 8) >> 'relu'", StackError, "ReLU()"),
    ("Input(4) >> Linear(4, 8) >> np.tanh", StackError, "Tanh()"),
    ("Input(4) >> [Linear(4, 8), ReLU()]", StackError, "Sequential([a, b])"),
    ("Input(8, 8, 1) >> Conv2d(1, 2, 3) >> Linear(72, 3)", StackError, "Flatten()"),
    ("Linear(10)", CallError, "Linear(4, 8)"),
    ("Linear(10, units=5)", CallError, "Linear(4, 8)"),
    ("Linear(10, 5, activation='relu')", CallError, "ReLU()"),
    ("Linear(10, 5, device='cuda')", CallError, "model.to(device)"),
    ("Linear(10, 5, dtype=np.float64)", CallError, "astype(numpy.float64)"),
    ("Linear(10, 5, use_bias=False)", CallError, "bias"),
    ("Linear(10, 5, outfeatures=3)", CallError, "it is called out_features"),
    ("Conv2d(1, 6, kernel=5)", CallError, "it is called kernel_size"),
    ("typednn.models.resnet18(num_classes=3)", CallError, "it is called classes"),
    ("Conv2d(6, 5)", CallError, "Conv2d(1, 6, 5)"),
    ("Conv2d(1, 6, 5, strides=2)", CallError, "stride"),
    ("Conv2d(1, 6, 5, padding_mode='reflect')", CallError, "Pad2d("),
    ("MaxPool2d(pool_size=2)", CallError, "kernel_size"),
    ("Dropout(rate=0.5)", CallError, "p"),
    ("LSTM(4, 8, num_layers=2)", CallError, "LSTM(4, 8) >> LSTM(8, 8)"),
    ("LSTM(4, 8, batch_first=True)", CallError, "LastStep()"),
]
NAMES = [
    ("typednn.nn", MissingName, "typednn.layers"),
    ("import typednn.nn", MissingImport, "typednn.layers"),
    ("from typednn import nn", MissingImport, "typednn.layers"),
    ("from typednn import Dense", MissingImport, "import Linear"),
    ("from typednn import Linear", MissingImport, "from typednn.layers import Linear"),
    ("typednn.fit", MissingName, "from typednn.training import fit"),
    ("typednn.no_grad()", MissingName, "model.eval()"),
    ("typednn.tensor([1.0])", MissingName, "numpy.asarray"),
    ("typednn.manual_seed(0)", MissingName, "default_rng(0)"),
    ("typednn.grad", MissingName, "GraphLayer"),
    ("typednn.jit", MissingName, "typednn[fast]"),
    ("from typednn.layers import Conv2D", MissingImport, "import Conv2d"),
    ("from typednn.layers import MaxPooling2D", MissingImport, "import MaxPool2d"),
    ("from typednn.layers import LeakyRelu", MissingImport, "import LeakyReLU"),
    ("from typednn.losses import CrossEntropyLoss", MissingImport, "import SoftmaxCrossEntropy"),
    ("from typednn.losses import MSELoss", MissingImport, "import MSE"),
    ("from typednn.optim import lr_scheduler", MissingImport, "StepLR"),
    ("from typednn.optim import Adm", MissingImport, "import Adam"),
    ("from typednn.data import DataLoader", MissingImport, "import Loader"),
    ("from typednn.training import Trainer", MissingImport, "import fit"),
    ("from typednn.training import ModelCheckpoint", MissingImport, "checkpoint_every"),
]
STEPS = [
    ("Adam(model.parameters())", ArgumentError, "model.update(optimizer, grad)"),
    ("Adam(model.parameters(), lr=0.1)", CallError, "model.update(optimizer, grad)"),
    ("Adam(params=model.parameters())", CallError, "model.update(optimizer, grad)"),
    ("Adam(learning_rate=0.1)", CallError, "it is called lr"),
    ("SGD('0.1')", ArgumentError, "without quotes"),
    ("optimizer.zero_grad()", MissingName, "nothing accumulates"),
    ("optimizer.step()", CallError, "model.update(optimizer, grad)"),
    ("optimizer.param_groups", MissingName, "optimizer.groups"),
    ("optimizer.learning_rate", MissingName, "it is called lr"),
    ("optimizer.apply_gradients([])", MissingName, "model.update(optimizer, grad)"),
    ("StepLR(optimizer, step_size=3)", ArgumentError, "SGD(lr=StepLR("),
    ("StepLR(0.1, 3).step()", MissingName, "SGD(lr=StepLR("),
    ("CosineLR(0.1, T_max=3)", CallError, "total_steps"),
    ("loss(model(x), y)", CallError, "loss.loss(prediction, target)"),
    ("loss.forward(model(x), y)", MissingName, "loss.loss(prediction, target)"),
    ("loss.backward()", MissingName, "model.backward(loss.loss_grad("),
    ("loss.loss(model(x))", CallError, "pass target=…"),
    ("SoftmaxCrossEntropy(from_logits=True)", CallError, "leave it out"),
    ("loss.loss(model(x), y.tolist())", DeviceError, "numpy.asarray(target)"),
    ("loss.loss(model(x), y[:, None])", ShapeError, "target[..., 0]"),
    ("loss.loss(model(x), y.astype(np.float32))", DTypeError, "target.astype(numpy.int64)"),
    ("loss.loss(model(x), np.eye(3)[y])", DTypeError, "target.astype(numpy.float32)"),
    ("loss.loss(model(x), y + 1)", ArgumentError, "labels are 0 to 2"),
    ("loss.loss(np.zeros((2, 5, 3), np.float32), y[:2])", ShapeError, "(2, 5)"),
    (
        "loss.loss(np.zeros((2, 3, 5), np.float32), np.zeros((2, 5), np.int64))",
        ShapeError,
        "prediction.transpose(0, 2, 1)",
    ),
    ("CrossEntropy().loss(model(x), y)", DTypeError, "SoftmaxCrossEntropy"),
    ("MSE().loss(model(x)[:, :1], x[:, 0])", ShapeError, "target[:, None]"),
]
DATA = [
    ("Loader(x, y, 32)", CallError, "batch_size=32"),
    ("Loader(x, y)", CallError, "batch_size="),
    ("Loader(x, y, batch_size=2)", ArgumentError, "default_rng(0)"),
    ("Loader((x, y), batch_size=2)", CallError, "Loader(x, y,"),
    ("Loader(x, y, batch_size=2, rng=rng, num_workers=2)", CallError, "prefetch"),
    ("Loader(x.tolist(), y, batch_size=2, rng=rng)", ArgumentError, "numpy.asarray"),
    ("for batch in loader: pass", CallError, "loader.batches()"),
    ("for a, b in loader.batches(): pass", CallError, "batch.x, batch.y"),
    ("Evaluation(loader)", CallError, "Evaluation(x, y)"),
    ("evaluate(model, loader)", ArgumentError, "evaluate(model, x)"),
    ("evaluate(model, x, y)", ArgumentError, "validation=(x, y)"),
]
FILES = [
    ("typednn.load('MNIST')", DataError, "typednn.data.load('mnist')"),
    ("typednn.load('lenet5')", DataError, "typednn.models.lenet5 builds"),
    ("model.save('x.h5')", ArgumentError, "name it model.safetensors"),
    ("model.save('x.pt')", ArgumentError, "name it model.safetensors"),
    ("model.save('x.onnx')", ArgumentError, "typednn.exchange.export_onnx(model, path)"),
    ("model.load_state_dict({'model': model.state_dict(), 'epoch': 3})", StateDictError, "state['model']"),
]
ALL = MODELS + STACKS + NAMES + STEPS + DATA + FILES


@pytest.fixture(autouse=True)
def _without_kernels() -> Iterator[None]:
    with using("reference"):
        yield


def names() -> dict[str, Any]:
    """What a user's script has defined by then."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {
        "np": np,
        "typednn": typednn,
        "Input": Input,
        "Layer": Layer,
        "Sequential": Sequential,
        "rng": rng,
    }
    for package in (layers, losses, optim, training, data):
        found |= {name: getattr(package, name) for name in package.__all__}
    x, y = rng.standard_normal((6, 4), dtype=np.float32), np.array([0, 1, 2, 0, 1, 2])
    return found | {
        "x": x,
        "y": y,
        "model": (Input(4) >> layers.Linear(4, 8) >> layers.ReLU() >> layers.Linear(8, 3)).init(rng),
        "image": (Input(8, 8, 1) >> layers.Conv2d(1, 2, 3) >> layers.Flatten() >> layers.Linear(72, 3)).init(rng),
        "loss": losses.SoftmaxCrossEntropy(),
        "optimizer": optim.SGD(lr=0.1),
        "loader": data.Loader(x, y, batch_size=3, rng=rng),
    }


@pytest.mark.parametrize(("written", "error", "cure"), ALL, ids=[row[0] for row in ALL])
def test_a_wrong_turn_gets_its_cure(written: str, error: type[TypednnError], cure: str) -> None:
    with pytest.raises(error) as raised:
        exec(compile(written, "<user>", "exec"), names())
    words = str(raised.value)
    assert cure in words
    assert ", got " in words or ", gets " in words  # the rule before, the cure after
    assert len(words) < 500


def test_there_are_enough_of_them() -> None:
    assert len({row[0] for row in ALL}) >= 60


def test_what_is_right_elsewhere_and_here() -> None:
    """Habits that need no cure: nothing of these is an error."""
    found = names()
    for written in (
        "model.train(); model.eval(); model.to('cpu'); model[0].weight; len(model); list(model); model.state_dict()",
        "model.load_state_dict(model.state_dict()); Linear(10, 5, bias=False); Linear(10, 5, False); "
        "Dropout(0.5); Flatten(1)",
        "model.train(); model(x); model.update(Adam(lr=0.1), model.backward(loss.loss_grad(model(x), y)))",
        "loss.loss(model(x), np.eye(3, dtype=np.float32)[y]); loss.loss(np.zeros((2, 5, 3), np.float32), "
        "np.zeros((2, 5), np.int64))",
        "optimizer.lr = 0.01; hasattr(model, 'predict') and 1 / 0; getattr(optimizer, 'zero_grad', None) and 1 / 0",
    ):
        exec(compile(written, "<user>", "exec"), found)


def test_every_cure_of_a_name_names_what_there_is() -> None:
    """An import that a cure gives works."""
    lines = {cure.partition(";")[0].partition(",")[0] for cure in habits.NAMES.values() if cure.startswith("from ")}
    assert len(lines) > 20
    for line in lines:
        exec(line.partition(":")[0], {})


@pytest.mark.parametrize("name", sorted(habits.NAMES))
def test_no_cure_hides_a_name(name: str) -> None:
    """A name that another library has, and a package of ours too, is ours there."""
    cure = habits.NAMES[name]
    if name in dir(typednn) or not cure.startswith("from typednn"):
        return
    package = cure.split()[1].rstrip(":")
    assert name not in habits.public_names(package) or f"import {name}" in cure


def test_other_names_are_missed_in_pythons_words() -> None:
    """So that `hasattr`, `copy` and tools that ask for anything work; Python then says what was probably meant."""
    model = names()["model"]
    with pytest.raises(AttributeError, match="'Chain' object has no attribute 'num_parametres'") as raised:
        _ = model.num_parametres
    assert not isinstance(raised.value, TypednnError)
    assert raised.value.name == "num_parametres"
    assert raised.value.obj is model
    assert not hasattr(typednn, "__wrapped__")
    with pytest.raises(AttributeError, match=r"module 'typednn\.layers' has no attribute 'quxquux'"):
        _ = layers.quxquux  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]


def test_a_renamed_name_works_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(habits.RENAMED, "typednn.layers.Dense", ("typednn.layers.Linear", "0.3"))  # type: ignore[misc]
    text = "typednn.layers.Dense is called typednn.layers.Linear now; the old name goes in 0.3"
    with pytest.warns(DeprecationWarning, match=text) as seen:
        from typednn.layers import Dense  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue, reportUnknownVariableType]
    assert Dense is layers.Linear
    assert [warning.filename for warning in seen] == [__file__]
    with pytest.warns(DeprecationWarning, match=text):
        assert layers.Dense is layers.Linear  # type: ignore[attr-defined]  # pyright: ignore[reportAttributeAccessIssue]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert layers.Linear is not None


def test_the_changelog_lists_what_was_renamed() -> None:
    changelog = (Path(__file__).parents[1] / "CHANGELOG.md").read_text("utf-8")
    for old, (new, until) in habits.RENAMED.items():
        assert f"`{old}`" in changelog, old
        assert f"`{new}`" in changelog, new
        assert until in changelog
