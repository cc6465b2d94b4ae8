"""Folders that `fit(run=...)` wrote are runs: they answer what NumPy computes from the program's own weights."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import typednn
from tests.support.damage import rewritten
from typednn import Input
from typednn.cli import main
from typednn.config import loads
from typednn.data import Loader
from typednn.errors import ArgumentError, CheckpointError, ConfigError, DataError
from typednn.html import png
from typednn.layers import Conv2d, Embedding, Flatten, Linear, LogSoftmax, ReLU, SequenceLinear, Softmax
from typednn.losses import L1, MSE, NLL, BCEWithLogits, CrossEntropy, SoftmaxCrossEntropy
from typednn.optim import Adam
from typednn.recipes import evaluate_run, load_data, load_run, recipe, resume, train
from typednn.recipes.catalogue import starting_from
from typednn.recipes.plan import LOSSES, read_plan
from typednn.runs import Run
from typednn.runs.checksums import configs_of
from typednn.tasks import Answer, Estimate
from typednn.training import EarlyStopping, fit

pytestmark = pytest.mark.usefixtures("on_the_reference")

X = np.random.default_rng(0).standard_normal((60, 4), dtype=np.float32)
Y = (X[:, 0] > X[:, 1]).astype(np.int64)


class Net:
    """Two layers in a class that derives from nothing: no config can say it."""

    def __init__(self, hidden: int = 8) -> None:
        rng = np.random.default_rng(2)
        self.first, self.last = Linear(4, hidden, rng=rng), Linear(hidden, 2, rng=rng)

    def forward(self, x: Any) -> Any:
        return self.last.forward(self.first.forward(x))

    def backward(self, next_grad: Any) -> Any:
        self.gradients = [self.last.backward(next_grad)]
        self.gradients.append(self.first.backward(self.gradients[0].input))
        return self.gradients[1]

    def update(self, optimizer: Any, grad: Any) -> None:
        self.last.update(optimizer, self.gradients[0])
        self.first.update(optimizer, grad)


def layers(outputs: int = 2) -> Any:
    return Linear(4, 8) >> ReLU() >> Linear(8, outputs)


def trained(folder: Path, model: Any, loss: Any = None, x: Any = X, y: Any = Y, **more: Any) -> Path:
    rng = np.random.default_rng(1)
    if not isinstance(model, Net):
        model.init(rng)
    loader: Any = Loader(x, y, batch_size=16, rng=rng, transform=more.pop("transform", None))
    wanted: Any = SoftmaxCrossEntropy() if loss is None else loss
    fit(model, wanted, Adam(0.02), loader, epochs=more.pop("epochs", 2), run=folder, progress=False, **more)
    return folder


def by_hand(model: Any, x: Any = X) -> Any:
    """The outputs of `layers`, by NumPy alone."""
    first, first_bias, last, last_bias = (np.asarray(each, np.float64) for each in model.state_dict().values())
    return np.maximum(x @ first.T + first_bias, 0) @ last.T + last_bias


def shares(scores: Any) -> Any:
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return powers / powers.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("declared", [True, False])
def test_a_classification(tmp_path: Path, declared: bool) -> None:
    """Classes by number; the model is the config's, also where it declares no input, as the loader's rows say it."""
    model: Any = Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2) if declared else layers()
    run = typednn.load(trained(tmp_path / "run", model))
    answers = run.predict(X)
    wanted = shares(by_hand(model))
    np.testing.assert_allclose([[*answer.probabilities.values()] for answer in answers], wanted, rtol=1e-5)
    assert [answer.label for answer in answers] == wanted.argmax(axis=1).tolist()
    assert isinstance(answers[0], Answer)
    assert [*answers[0].probabilities] == ["0", "1"]
    assert (run.names, run.columns, run.reads, run.sizes, run.outputs) == ((), (), "rows", (4,), 2)
    assert (run.scaling.mean, run.scaling.deviation, run.step) == (0.0, 1.0, 8)
    assert run.facts()["task"] == "classification"


@pytest.mark.parametrize("loss", [MSE(), L1(), BCEWithLogits()])
def test_other_losses_answer_numbers(tmp_path: Path, loss: Any) -> None:
    model = layers()
    run = load_run(trained(tmp_path / "run", model, loss, y=(X[:, :2] > 0).astype(np.float32)))
    answers = run.predict(X)
    assert isinstance(answers[0], Estimate)
    np.testing.assert_allclose([answer.values for answer in answers], by_hand(model), rtol=1e-4, atol=1e-5)
    assert run.facts()["task"] == "numbers"


@pytest.mark.parametrize(("end", "loss", "hot"), [(Softmax(), CrossEntropy(), True), (LogSoftmax(), NLL(), False)])
def test_probabilities_are_answered_once(tmp_path: Path, end: Any, loss: Any, hot: bool) -> None:
    """A model that ends with Softmax, or with its logarithm, answers the probabilities that it gives."""
    model: Any = layers() >> end
    run = load_run(trained(tmp_path / "run", model, loss, y=np.eye(2, dtype=np.float32)[Y] if hot else Y))
    found = [[*answer.probabilities.values()] for answer in run.predict(X)]
    np.testing.assert_allclose(found, shares(by_hand(model)), rtol=1e-4)


def test_each_loss_is_named_as_its_class() -> None:
    assert [getattr(typednn.losses, name).__name__ for name in LOSSES] == [*LOSSES]


@given(st.sampled_from([(1,), (3,), (2, 3), (1, 1), (3, 3, 1), (1, 2, 3)]), st.integers(1, 5))
def test_samples_of_any_shape(tmp_path_factory: pytest.TempPathFactory, shape: tuple[int, ...], count: int) -> None:
    """An array, an NPY file of it, and one of its rows give the same."""
    folder = tmp_path_factory.mktemp("shape")
    x = np.random.default_rng(3).standard_normal((20, *shape), dtype=np.float32)
    size = int(np.prod(shape))
    read: Any = Input(*shape) >> Flatten() if len(shape) > 1 else Input(*shape)
    model: Any = read >> Linear(size, 3)
    run = load_run(trained(folder / "run", model, x=x, y=np.arange(20) % 3))
    weight, bias = (np.asarray(each, np.float64) for each in model.state_dict().values())
    wanted = shares(x[:count].reshape(count, size) @ weight.T + bias)
    np.save(folder / "x.npy", x[:count])
    np.save(folder / "rows.npy", x[:count].reshape(count, size))
    for answers in (
        run.predict(x[:count]),
        run.predict_files(folder / "x.npy"),
        run.predict_files(folder / "rows.npy"),
    ):
        found = [[*answer.probabilities.values()] for answer in answers]
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_tokens(tmp_path: Path) -> None:
    tokens = np.random.default_rng(0).integers(0, 7, (40, 5))
    model: Any = Input(5, dtype=int) >> Embedding(7, 4) >> Flatten() >> Linear(20, 2)
    run = load_run(trained(tmp_path / "run", model, x=tokens, y=np.arange(40) % 2))
    table, weight, bias = (np.asarray(each, np.float64) for each in model.state_dict().values())
    wanted = shares(table[tokens].reshape(40, 20) @ weight.T + bias)
    found = [[*answer.probabilities.values()] for answer in run.predict(tokens.tolist())]
    np.testing.assert_allclose(found, wanted, rtol=1e-4)
    with pytest.raises(DataError, match=r"the model reads tokens, whole numbers from 0, got 0\.5 in number 1"):
        run.predict([0, 0.5, 1, 1, 1])


def test_a_loader_that_changes_the_rows(tmp_path: Path) -> None:
    """The config declares what the model reads, not what the loader holds."""
    model = layers()
    trained(tmp_path / "run", model, x=np.repeat(X, 2, axis=1), transform=lambda x: x[:, ::2])
    assert load_run(tmp_path / "run").sizes == (4,)


def test_each_position_has_an_output(tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((20, 3, 4), dtype=np.float32)
    run = load_run(trained(tmp_path / "run", Input(3, 4) >> SequenceLinear(4, 2), MSE(), x=x, y=x[:, :, :2].copy()))
    assert run.model.forward(x.reshape(20, 12)).shape == (20, 6)  # a stack's rows: it has a row of numbers
    assert len(run.predict(x)) == 20
    tokens = np.arange(40).reshape(10, 4) % 5
    spoken = load_run(trained(tmp_path / "spoken", Input(4, dtype=int) >> Embedding(5, 3), x=tokens, y=tokens % 3))
    with pytest.raises(ArgumentError, match=r"a row of numbers for each input, got outputs of shape \(4, 3\)"):
        spoken.predict(tokens)


def test_the_weights_are_those_that_fit_ended_with(tmp_path: Path) -> None:
    """With early stopping the best, unless they are not wanted; others by name."""
    for restore in (True, False):
        model = layers()
        early = EarlyStopping(2, restore_best_weights=restore)
        noise = (X[:20], 1 - Y[:20])
        run = trained(tmp_path / str(restore), model, epochs=9, validation=noise, early_stopping=early)
        best, last = load_run(run, "best"), load_run(run, "latest")
        assert best.step < last.step
        assert load_run(run).step == (best if restore else last).step
        np.testing.assert_array_equal(load_run(run).model.forward(X), model.eval().forward(X))


# --- a model that no config can say ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any]:
    model = Net()
    return trained(tmp_path_factory.mktemp("own") / "run", model), model


@pytest.mark.parametrize("made", [Net, Net(), lambda: Net()], ids=["class", "model", "function"])
def test_a_model_that_is_named(own: tuple[Path, Any], made: Any) -> None:
    folder, model = own
    run = load_run(folder, model=made)
    found = [[*answer.probabilities.values()] for answer in run.predict(X)]
    np.testing.assert_allclose(found, shares(np.asarray(model.forward(X), np.float64)), rtol=1e-5)
    assert (run.sizes, run.outputs, run.plan.recipe.name) == ((4,), 2, "Net")
    assert "reads rows of 4 numbers" in repr(run)


def test_load_fills_a_model(own: tuple[Path, Any], tmp_path: Path) -> None:
    folder, model = own
    other = Net()
    loaded: Any = typednn.load
    assert loaded(folder, other) is other
    np.testing.assert_array_equal(other.forward(X), model.forward(X))
    described = layers()
    trained(tmp_path / "run", described)
    chain = layers().init(np.random.default_rng(9))
    assert typednn.load(tmp_path / "run", chain) is chain
    np.testing.assert_array_equal(chain.forward(X), described.eval().forward(X))


@pytest.mark.parametrize(
    ("model", "error", "words"),
    [
        (None, ConfigError, "config must say the model, got Net, which a config can't say; name it: --model module"),
        (layers, CheckpointError, "is of a model with 'Net 58', got 'Chain'"),
        (lambda: Net(9), CheckpointError, "is of a model with 'Net 58', got 'Net 65'"),
        (lambda hidden: Net(hidden), ArgumentError, "makes one without arguments, got TypeError"),
        (3, ArgumentError, "makes one without arguments, got TypeError: 'int' object is not callable"),
        (lambda: 3, ArgumentError, "a model has forward, backward and update, got int"),
    ],
)
def test_what_is_no_such_model(own: tuple[Path, Any], model: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=words):
        load_run(own[0], model=model)


def test_a_described_model_needs_no_other(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError, match="the run's config says its model, got another"):
        load_run(trained(tmp_path / "run", layers()), model=layers)


def test_a_config_that_says_nothing(tmp_path: Path) -> None:
    """A program that makes its run itself may write any config; then the named model declares what it reads."""
    model: Any = Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 2)
    with Run.create(tmp_path / "run", "# mine\n", model) as run:
        trained(run, model)  # type: ignore[arg-type]
    np.testing.assert_allclose(
        [[*each.probabilities.values()] for each in load_run(tmp_path / "run", model=model).predict(X)],
        shares(by_hand(model)),
        rtol=1e-5,
    )
    with pytest.raises(ConfigError, match="needs one sample's shape, got Chain, which declares none"):
        load_run(tmp_path / "run", model=layers)


# --- eval ------------------------------------------------------------------------------------------------------------


def write_csv(path: Path, columns: str, *parts: Any) -> Path:
    rows = np.column_stack([np.asarray(part, np.float64) for part in parts])
    path.write_text(f"{columns}\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist()))
    return path


def test_eval(tmp_path: Path) -> None:
    model = layers()
    run = trained(tmp_path / "run", model)
    np.savez(tmp_path / "test.npz", x=X, y=Y)
    write_csv(tmp_path / "test.csv", "label,a,b,c,d", Y, X)
    write_csv(tmp_path / "last.csv", "a,b,c,d,label", X, Y)
    accuracy = np.mean(by_hand(model).argmax(axis=1) == Y)
    for name, target in (("test.npz", None), ("test.csv", None), ("last.csv", "label")):
        report: Any = evaluate_run(run, str(tmp_path / name), target=target)[0]
        assert report.accuracy == pytest.approx(accuracy)
    assert not (run / "report.json").exists()


@pytest.mark.parametrize("whole", [False, True])
def test_eval_of_a_regression(tmp_path: Path, whole: bool) -> None:
    """Targets may be whole numbers, and inputs too."""
    model = layers(1)
    run = trained(tmp_path / "run", model, MSE(), y=X[:, :1].copy())
    x = np.round(3 * X).astype(np.int32) if whole else X
    y = x[:, 0]
    np.savez(tmp_path / "test.npz", x=x, y=y)
    report: Any = evaluate_run(run, str(tmp_path / "test.npz"))[0]
    assert report.mse == pytest.approx(np.mean((by_hand(model, x)[:, 0] - y) ** 2), rel=1e-4)


def test_eval_of_a_named_model(own: tuple[Path, Any], tmp_path: Path) -> None:
    folder, model = own
    np.savez(tmp_path / "test.npz", x=X, y=Y)
    report: Any = evaluate_run(folder, str(tmp_path / "test.npz"), model=Net)[0]
    assert report.accuracy == pytest.approx(np.mean(model.forward(X).argmax(axis=1) == Y))


def test_eval_says_what_it_needs(tmp_path: Path) -> None:
    run = trained(tmp_path / "run", layers())
    data = str(tmp_path / "data.npz")
    with pytest.raises(ArgumentError, match="data, which a run of fit doesn't keep, got none; give --data FILE: NPZ"):
        evaluate_run(run)
    with pytest.raises(DataError, match=r"are an NPZ file with x and y, or a table .*, got no such file"):
        evaluate_run(run, "digits")
    with pytest.raises(DataError, match=r"got a folder"):
        evaluate_run(run, str(tmp_path))
    cases: list[tuple[dict[str, Any], str]] = [
        ({"x": X}, r"must hold the arrays x and y, .*got x of shape \(60, 4\)"),
        ({"x": X[:0], "y": Y[:0]}, "a row for each sample"),
        ({"x": np.float32(1), "y": np.int64(1)}, "a row for each sample"),
        ({"x": X, "y": Y[:3]}, "must have as many rows, got 60 and 3"),
    ]
    for arrays, words in cases:
        np.savez(data, **arrays)
        with pytest.raises(DataError, match=words):
            evaluate_run(run, data)
    np.savez(data, x=X[:, :3], y=Y)
    with pytest.raises(ArgumentError, match="the model reads 4 numbers per sample, got 3"):
        evaluate_run(run, data)
    np.savez(data, x=X, y=Y + 1)
    with pytest.raises(ArgumentError, match="labels"):
        evaluate_run(run, data)
    np.savez(data, x=X, y=Y)
    with pytest.raises(ArgumentError, match="--target: is a column of a table"):
        evaluate_run(run, data, target="y")
    other = trained(tmp_path / "other", layers(), BCEWithLogits(), y=(X[:, :2] > 0).astype(np.float32))
    with pytest.raises(ArgumentError, match=r"eval reports on the losses .*, got BCEWithLogits; measure it in the"):
        evaluate_run(other, data)


# --- damage, and what only the program can do ------------------------------------------------------------------------


def test_resume_is_the_programs(tmp_path: Path, own: tuple[Path, Any]) -> None:
    """What the error says works: the same call goes on from the last checkpoint."""
    run = trained(tmp_path / "run", layers())
    for folder in (run, own[0]):
        with pytest.raises(ConfigError, match=r"call fit there with the same arguments and run='.*run': it goes on"):
            resume(folder)
    assert load_run(trained(run, layers(), epochs=3)).step == 12


def remove_checkpoints(run: Path) -> None:
    shutil.rmtree(run / "checkpoints")


def remove_weights(run: Path) -> None:
    for weights in run.glob("checkpoints/*/weights.safetensors"):
        weights.unlink()


def another_config(run: Path) -> None:
    config = run / "config.toml"
    config.write_text(config.read_text().replace("[optimizer]", "# mine\n[optimizer]"))


def broken_config(run: Path) -> None:
    config = run / "config.toml"
    config.write_text(config.read_text().replace("in_features = 4", "in_features = 5"))


def weights_of_another(run: Path) -> None:
    """A whole checkpoint of a model with another last layer, trained by the same config."""
    other = trained(run.parent / "another", layers(3))
    shutil.rmtree(run / "checkpoints")
    shutil.copytree(other / "checkpoints", run / "checkpoints")
    for state in (run / "checkpoints").glob("step-*"):
        rewritten(state, lambda saved: saved["configs"].update(configs_of(run)))


@pytest.mark.parametrize(
    ("harm", "error", "words"),
    [
        (remove_checkpoints, CheckpointError, "must hold a checkpoint, got none; train first"),
        (remove_weights, CheckpointError, r"weights\.safetensors: must be there, got no such file"),
        (
            another_config,
            CheckpointError,
            r"was trained by a config\.toml of SHA-256 .*, got another, or a damaged one",
        ),
        (broken_config, ConfigError, r"config\.toml:\d+:\d+: .*"),
        (weights_of_another, CheckpointError, r"is of a model with '2 Linear\(8, 3\).*', got '2 Linear\(8, 2\)"),
    ],
)
def test_damage(tmp_path: Path, harm: Callable[[Path], None], error: Any, words: str) -> None:
    run = trained(tmp_path / "run", layers())
    harm(run)
    with pytest.raises(error, match=words):
        load_run(run)


def test_a_run_that_lost_its_recipe_is_none_of_fit(tmp_path: Path) -> None:
    """Its scaling is lost with it: answers would be wrong."""
    run = trained(tmp_path / "run", layers())
    checksums = run / "checksums.json"
    checksums.write_text(checksums.read_text().replace('"config.toml"', '"recipe.json"'))
    with pytest.raises(ConfigError, match=r"must be a run folder, with recipe\.json, got no such file"):
        load_run(run)


def test_the_config_is_a_config(tmp_path: Path) -> None:
    """What fit writes for a model without a declared input builds one that has the same parameters."""
    model: Any = Conv2d(1, 2, 3) >> ReLU() >> Flatten() >> Linear(32, 3)
    images = np.random.default_rng(0).standard_normal((12, 6, 6, 1), dtype=np.float32)
    run = trained(tmp_path / "run", model, x=images, y=np.arange(12) % 3)
    built = loads((run / "config.toml").read_text()).model()
    assert built.sample_shape == (6, 6, 1)
    assert built.parameter_shapes() == model.parameter_shapes()
    assert read_plan(run, of_fit=True).shape == (6, 6, 1)


def test_images_of_files_are_read_as_they_are(tmp_path: Path) -> None:
    """The folder doesn't know how the program scaled pixels, and says so."""
    image = png(np.full((6, 6, 1), 9, np.uint8))
    model: Any = Input(6, 6, 1) >> Flatten() >> Linear(36, 2)
    x = np.random.default_rng(0).standard_normal((12, 6, 6, 1), dtype=np.float32)
    run = load_run(trained(tmp_path / "run", model, x=x, y=np.arange(12) % 2))
    (tmp_path / "image.png").write_bytes(image)
    weight, bias = (np.asarray(each, np.float64) for each in model.state_dict().values())
    wanted = shares((9 * weight.sum(axis=1) + bias)[None])[0]
    for (answer,) in (run.predict(image), run.predict_files(tmp_path / "image.png")):
        np.testing.assert_allclose([*answer.probabilities.values()], wanted, rtol=1e-4)
        assert "read as 0 to 255" in answer.remark


# --- the commands ----------------------------------------------------------------------------------------------------


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*arguments: str) -> str:
        code = main([*arguments])
        found = capsys.readouterr()
        assert "Traceback" not in found.err
        return found.out if code == 0 else found.err

    model = Net()
    trained(tmp_path / "own", model)
    trained(tmp_path / "run", layers())
    np.save(tmp_path / "rows.npy", X[:2])
    np.savez(tmp_path / "test.npz", x=X, y=Y)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setitem(sys.modules, "my_model", sys.modules[__name__])
    assert "58 parameters, 232 B in float32" in said("summary", "run")
    assert 'loss            "SoftmaxCrossEntropy"' in said("summary", "run")
    assert "layer." not in said("summary", "run")
    shown = said("summary", "own")
    assert "Net, trained by typednn.training.fit" in shown
    assert "58 parameters" in shown
    labels = model.forward(X[:2]).argmax(axis=1)
    lines = said("predict", "own", "rows.npy", "--model", "my_model:Net").splitlines()
    assert [line.split()[1] for line in lines] == [str(label) for label in labels]
    accuracy = 100 * np.mean(model.forward(X).argmax(axis=1) == Y)
    assert f"accuracy {accuracy:.2f}%" in said("eval", "own", "--data", "test.npz", "--model", "my_model:Net")
    assert said("export", "own", "--to", "npz", "--model", "my_model:Net", "--output", "own.npz") == "own.npz\n"
    with np.load(tmp_path / "own.npz") as arrays:
        np.testing.assert_array_equal(arrays["first.weight"], model.first.weight)
    assert said("export", "run", "--to", "typednn", "--weights", "latest") == "run.safetensors\n"
    loaded: Any = typednn.load(tmp_path / "run.safetensors")
    np.testing.assert_array_equal(loaded.eval().forward(X), load_run("run").model.forward(X))
    for name, words in (
        ("my_model:Not", "--model: must name what is in my_model, got 'Not'"),
        ("my_model", "is module:name, the module without its folder and ending, got 'my_model'"),
        ("my_model.py:Net", "is module:name"),
        ("folder/my_model:Net", "is module:name"),
        ("no_such_module:Net", "import no_such_module: No module named"),
    ):
        assert words in said("predict", "own", "rows.npy", "--model", name)
    assert "only its program can go on with a run of fit" in said("resume", "run")
    assert "got no model; such as --model mlp" in said("train", "--from", "run", "--data", "digits")
    from_own = said("train", "mlp", "--from", "own", "--data", "digits")
    assert "a model that the run's config says, got Net; give a safetensors file" in from_own
    assert "must fit all layers but the last" in said("train", "mlp", "--from", "run", "--data", "digits")


@pytest.mark.parametrize("patience", [None, 1])
def test_a_recipe_starts_from_a_run_of_fit(tmp_path: Path, patience: int | None) -> None:
    """With the weights that it ended with, the best after early stopping; a last layer of other classes begins anew."""
    model = Linear(784, 128).named("fc1") >> ReLU() >> Linear(128, 7).named("fc2")
    x = np.random.default_rng(0).standard_normal((60, 784), dtype=np.float32)
    y = np.random.default_rng(1).integers(0, 7, 60)
    stopping = None if patience is None else EarlyStopping(patience=patience)
    more = {} if patience is None else {"early_stopping": stopping, "validation": (x[::-1], y), "epochs": 9}
    trained(tmp_path / "run", model, x=x, y=y, **more)
    found = load_data("digits")
    start = starting_from(str(tmp_path / "run"), recipe("mlp"))
    begun = train(start.changed({"optimizer.lr": 1e-30, "max_steps": 1}), found, progress=False).model.state_dict()
    for name in ("fc1.weight", "fc1.bias"):
        np.testing.assert_array_equal(begun[name], model.state_dict()[name])
    assert begun["fc2.weight"].shape == (10, 128)


def test_a_run_without_settings_has_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Run.create(tmp_path / "run", "# mine\n", layers()).close()
    assert main(["summary", str(tmp_path / "run")]) == 0
    assert "58 parameters" in capsys.readouterr().out
