"""Recipes: what they are, how they change, and that the paper's is the paper's."""

import errno
import functools
import json
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy

from tests.support.damage import rewritten
from tests.support.paper import LENET5
from typednn import Input, Sequential
from typednn.config import dumps, loads
from typednn.errors import ArgumentError, CheckpointError, DataError
from typednn.layers import Flatten, Linear, ReLU
from typednn.losses import CrossEntropy
from typednn.metrics import ClassificationReport
from typednn.models import lenet5
from typednn.optim import SGD, CosineLR
from typednn.random import PCG32
from typednn.recipes import (
    RECIPES,
    Recipe,
    Samples,
    beside_the_paper,
    find,
    parsed_settings,
    plan,
    recipe,
    recipe_of_config,
    resume,
    train,
)
from typednn.recipes.plan import plan_for
from typednn.recipes.predictor import load_run
from typednn.recipes.published import ACCURACIES, TABLE_I
from typednn.recipes.recipe import from_json
from typednn.recipes.running import computed, which
from typednn.recipes.samples import Scaling
from typednn.recipes.using import predict
from typednn.runs import RunWarning
from typednn.training.callbacks import Every


def _pictures(rows: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 10, rows)
    images = rng.integers(0, 30, (rows, 28, 28, 1)).astype(np.float32)
    images[np.arange(rows), 2 * labels + 3, 4:20, 0] = 255.0
    return images, labels


@pytest.fixture(scope="module")
def samples() -> Samples:
    (x, y), (test_x, test_y) = _pictures(64, 0), _pictures(20, 1)
    return Samples("pictures", "made here", x, y, test_x, test_y)


# ---------------------------------------------------------------------------------------------------- the paper


@pytest.mark.parametrize("compile", [True, False])
def test_the_papers_recipe_is_the_papers(samples: Samples, compile: bool) -> None:
    """P-E4: as written out here by hand from the paper: PCG(42, 6), rate 1.0, smoothed targets, cross entropy averaged
    over all.
    """
    one = recipe("lenet5-paper").changed({"epochs": 2, "batch_size": 24, "compile": compile})
    result = train(one, samples, progress=False)

    model = lenet5().init(PCG32(42, 6))
    optimizer, loss, rng = SGD(lr=1.0, decay=1e-7), CrossEntropy("mean"), PCG32(42, 6)
    mean, deviation = np.float32(samples.x.mean(dtype=np.float64)), np.float32(samples.x.std(dtype=np.float64))
    wanted = np.full((64, 10), 0.01, np.float32)
    wanted[np.arange(64), samples.y] = 0.91
    for _ in range(2):
        order = rng.permutation(64)
        for start in range(0, 64, 24):
            rows = order[start : start + 24]
            prediction = model.forward((samples.x[rows] - mean) / deviation)
            model.update(optimizer, model.backward(loss.loss_grad(prediction, wanted[rows])))
    for name, weights in model.named_parameters().items():
        np.testing.assert_array_equal(result.model.named_parameters()[name], weights, err_msg=name)


def test_the_papers_format_gives_the_same_bits(samples: Samples, tmp_path: Path) -> None:
    """P-E4, P-D6: the model in the paper's own format, trained likewise."""
    (tmp_path / "lenet5.config").write_text(LENET5, encoding="utf-8")
    fewer = {"epochs": 2, "batch_size": 24}
    named = train(recipe("lenet5-paper").changed(fewer), samples, progress=False)
    read = train(recipe_of_config(tmp_path / "lenet5.config").changed(fewer), samples, progress=False)
    pairs = list(zip(named.model.named_parameters().values(), read.model.named_parameters().values(), strict=True))
    assert len(pairs) == 8
    for one, other in pairs:
        np.testing.assert_array_equal(one, other)
    assert named.history.losses == read.history.losses


def test_the_papers_numbers() -> None:
    """P-E4: batch, epochs, generator and targets, as section XI has them."""
    one = recipe("lenet5-paper")
    assert (one.batch_size, one.epochs, one.seed, one.stream, one.generator, one.data) == (
        600,
        10,
        42,
        6,
        "pcg32",
        "mnist",
    )
    assert one.optimizer == {"type": "SGD", "lr": 1.0, "decay": 1e-7}
    assert (one.validation, one.standardise) == (0.0, True)
    targets = one.made_task().targets(np.array([1]), np.zeros((1, 10), np.float32))
    np.testing.assert_array_equal(targets, np.array([[0.01, 0.91] + [0.01] * 8], np.float32))


def test_table_one_beside_ours() -> None:
    """P-E5: ten digits, three measures, two sets, the paper's number before ours in each place."""
    labels = np.repeat(np.arange(10), 4)
    almost = labels.copy()
    almost[0] = 1
    text = beside_the_paper(ClassificationReport(10, labels, labels), ClassificationReport(10, almost, labels))
    lines = text.splitlines()
    assert [line.split()[0] for line in lines[4:14]] == [str(digit) for digit in range(10)]
    assert lines[4].split() == [
        "0",
        "0.97",
        "1.000",
        "0.96",
        "1.000",
        "0.99",
        "1.000",
        "0.99",
        "0.750",
        "0.98",
        "1.000",
        "0.98",
        "0.857",
    ]
    assert lines[-2:] == ["train accuracy  paper 0.976  ours 1.0000", "test accuracy  paper 0.970  ours 0.9750"]
    assert np.mean([row[2] for row in TABLE_I]) == pytest.approx(ACCURACIES[0], abs=0.002), (
        "recall averages to the accuracy"
    )
    assert np.mean([row[3] for row in TABLE_I]) == pytest.approx(ACCURACIES[1], abs=0.003)
    with pytest.raises(ArgumentError, match="Table I has ten digits, train too, got 3 classes"):
        beside_the_paper(
            ClassificationReport(3, labels % 3, labels % 3), ClassificationReport(3, labels % 3, labels % 3)
        )


# ---------------------------------------------------------------------------------------------------- recipes


@pytest.mark.parametrize("name", list(RECIPES))
def test_every_recipe_is_whole(name: str, samples: Samples) -> None:
    """Its config can be read, its settings come back from JSON, and it trains; deep ones train in minutes, and not
    here.
    """
    one = recipe(name)
    read = one.checked()
    assert read.optimizer() is not None
    assert str(from_json(one.as_json(), one.config()).config()) == one.config()
    assert one.about
    if one.adapts:
        return
    result = train(one.changed({"epochs": 1}), samples, progress=False)
    assert len(result.history.epochs) == 1
    assert result.test.support.sum() == 20


@pytest.mark.parametrize("name", [name for name, each in RECIPES.items() if "image" in each.adapts])
def test_deep_recipes_take_images_and_classes_of_the_data(name: str) -> None:
    x, y = np.ones((6, 40, 36, 4), np.float32), np.arange(6) % 3
    model: Any = (
        plan_for(recipe(name).changed({"standardise": False}), Samples("four", "made here", x, y, x, y), {})
        .model_config()
        .built()
    )
    assert model.sample.sizes == (40, 36, 4)
    assert model.out_features == 3


def _flat(classes: int = 10, *, image: tuple[int, int, int] = (32, 32, 3)) -> Any:
    return Input(*image) >> Flatten() >> Linear(math.prod(image), classes)


def test_a_recipe_that_adapts_is_trained_and_opened_again(samples: Samples, tmp_path: Path) -> None:
    """Its run knows the data's sizes, so that it can be opened without the recipe."""
    adapting = Recipe("adapting", _flat, {"type": "SGD"}, epochs=1, least_steps=0, adapts=("classes", "image"))
    result = train(adapting, samples, run=tmp_path / "run", progress=False)
    assert result.model.in_features == 28 * 28
    model: Any = load_run(tmp_path / "run").model
    assert (model.sample.sizes, model.out_features) == ((28, 28, 1), 10)
    rows = replace(samples, x=samples.x.reshape(64, -1), test_x=samples.test_x.reshape(20, -1))
    with pytest.raises(ArgumentError, match="adapting reads images, got rows of 784 numbers"):
        train(adapting, rows, progress=False)


def test_small_data_are_gone_through_more_often() -> None:
    one = recipe("mlp")
    assert one.epochs_for(57_000) == one.epochs
    assert one.epochs_for(640) == 70
    assert one.changed({"epochs": 2}).epochs_for(640) == 2


def test_a_cosine_ends_with_the_training() -> None:
    optimizer: Any = recipe("mlp").checked(steps=400).optimizer()
    assert optimizer.settings.lr == CosineLR(0.05, 400, warmup_steps=100)
    short: Any = recipe("mlp").checked(steps=20).optimizer()
    assert short.settings.lr == CosineLR(0.05, 20, warmup_steps=10)


def test_settings() -> None:
    told = parsed_settings(
        [
            "optimizer.lr=0.5",
            "loss=mse",
            "standardise=false",
            "patience=3",
            "clip_grad_norm=1",
            "optimizer.nesterov=false",
        ]
    )
    one = recipe("mlp").changed(told)
    assert one.optimizer["lr"] == {"type": "CosineLR", "lr": 0.5, "warmup_steps": 100}, "the schedule stays"
    assert (one.loss, one.standardise, one.patience, one.clip_grad_norm, one.optimizer["nesterov"]) == (
        "mse",
        False,
        3,
        1.0,
        False,
    )
    assert one.changed({"patience": None}).patience is None
    assert recipe("mlp").patience is None, "a recipe is never changed itself"
    assert one.changed({"optimizer.lr.warmup_steps": 7}).optimizer["lr"]["warmup_steps"] == 7
    assert recipe("mlp").optimizer["lr"] == {"type": "CosineLR", "lr": 0.05, "warmup_steps": 100}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epoch": 1}, "did you mean 'epochs'?"),
        ({"optimizer.lrr": 1}, "SGD has no argument 'lrr'; did you mean 'lr'?"),
        ({"optimizer.type": "Sgd"}, "did you mean 'SGD'?"),
        ({"optimizer.momentum.x": 1}, "must be a table"),
        ({"epochs": True}, "epochs must be an integer, got True"),
        ({"epochs": 1.5}, "epochs must be an integer"),
        ({"batch_size": 0}, "batch_size"),
        ({"loss": 3}, "loss must be a word"),
        ({"generator": "dice"}, "generator"),
        ({"validation": 1.0}, "validation"),
        ({"clip_grad_norm": 0.0}, "clip_grad_norm"),
        ({"name": "x"}, "expects a setting"),
        ({"optimizer": "adm"}, "optimizer: expects the name of one, got 'adm'; did you mean 'Adam'?"),
        ({"optimizer": 3}, "is an optimizer's name or the table of its settings"),
    ],
)
def test_settings_that_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message.replace("?", r"\?")):
        recipe("mlp").changed(settings)


def test_a_recipe_by_its_name(samples: Samples, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RECIPES, "mlp", recipe("mlp").changed(max_steps=1))
    assert train("mlp", samples, progress=False).steps == 1
    with pytest.raises(ArgumentError, match="got 'lenett'; did you mean 'lenet5'"):
        train("lenett", samples)


def test_intervals_of_a_recipe_are_steps() -> None:
    """A run's folder keeps them as numbers."""
    interval: Any = Every(epochs=2)
    with pytest.raises(ArgumentError, match="recipe 'mlp': evaluate_every must be an integer"):
        replace(recipe("mlp"), evaluate_every=interval)


def test_find(tmp_path: Path) -> None:
    assert find("mlp") is RECIPES["mlp"]
    with pytest.raises(ArgumentError, match="did you mean 'lenet5'"):
        find("lenet")
    with pytest.raises(ArgumentError, match="did you mean 'mlp'"):
        recipe("mpl")


def test_a_configs_own_generator_and_optimizer(tmp_path: Path) -> None:
    text = 'format = 1\ninput = [4]\n[[layer]]\ntype = "Linear"\nin_features = 4\nout_features = 2\n'
    (tmp_path / "bare.toml").write_text(text, encoding="utf-8")
    bare = recipe_of_config(tmp_path / "bare.toml")
    assert bare.optimizer == {"type": "SGD", "lr": 0.05, "momentum": 0.9}
    more = (
        '[optimizer]\ntype = "AdamW"\nlr = { type = "StepLR", lr = 0.1, step_size = 5 }\n[[optimizer.group]]\nnames '
        '= "*.bias"\nlr = 0.5\n'
    )
    (tmp_path / "more.toml").write_text(
        f'{text}{more}[init]\nseed = 9\ngenerator = "pcg32"\nstream = 4\n', encoding="utf-8"
    )
    one = recipe_of_config(tmp_path / "more.toml")
    assert (one.seed, one.stream) == (9, 4)
    assert one.checked().rng() == PCG32(9, 4)
    optimizer: Any = one.checked().optimizer()
    assert type(optimizer).__name__ == "AdamW"
    assert [names for names, _ in optimizer.groups] == ["*.bias"]
    (tmp_path / "numpy.toml").write_text(f"{text}[init]\nseed = 9\n", encoding="utf-8")
    assert recipe_of_config(tmp_path / "numpy.toml").generator == "numpy"


def test_another_optimizer_altogether() -> None:
    one = recipe("mlp").changed(parsed_settings(['optimizer={ type = "AdamW", lr = 1e-3 }', "optimizer.lr=0.01"]))
    assert one.optimizer == {"type": "AdamW", "lr": 0.01}
    with pytest.raises(ArgumentError, match="AdamW has no argument 'momentum'"):
        recipe("mlp").changed({"optimizer.type": "AdamW"})


def test_early_stopping_takes_the_best(samples: Samples) -> None:
    assert which(recipe("mlp")) == "latest"
    assert which(recipe("mlp").changed({"patience": 3})) == "best"
    with pytest.raises(ArgumentError, match="patience watches data kept apart, got validation 0; set validation"):
        recipe("mlp").changed({"patience": 3, "validation": 0.0})


def test_what_is_reported_is_the_best(samples: Samples, tmp_path: Path) -> None:
    """With a run and without: a rate that spoils the weights after the first epochs; the model in hand is the best run
    folder's.
    """
    one = recipe("mlp").changed({"patience": 2, "validation": 0.25, "epochs": 12, "optimizer.lr": 3.0, "batch_size": 8})
    without, with_run = train(one, samples, progress=False), train(one, samples, run=tmp_path / "run", progress=False)
    best = with_run.history.best
    assert best is not None
    assert 0 < best.step < with_run.history.steps
    kept = safetensors.numpy.load_file(
        tmp_path / "run" / "checkpoints" / f"step-{best.step:08d}" / "weights.safetensors"
    )
    for result in (without, with_run):
        for name, array in result.model.named_parameters().items():
            np.testing.assert_array_equal(array, kept[name], err_msg=name)
    assert str(without.test) == str(with_run.test)


def test_a_config_that_could_not_be_written_is_made_up_for(
    samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full when config.toml is written: one error; resuming writes it, as it does where it was damaged,
    which is told.
    """
    one = recipe("mlp").changed({"epochs": 1})
    train(one, samples, run=tmp_path / "alone", progress=False)
    config = (tmp_path / "alone" / "config.toml").read_bytes()
    real, run = os.fsync, tmp_path / "run"

    def fsync(handle: int) -> None:
        if any(run.glob(".new-config.toml-*")):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        real(handle)

    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", fsync)
        with pytest.raises(DataError, match=r"config\.toml: must be writable, got Input/output error"):
            train(one, samples, run=run, progress=False)
    assert not (run / "config.toml").exists()
    assert not list(run.glob(".new-*"))
    monkeypatch.setattr(plan, "load_data", lambda name, announce: samples)
    resume(run, progress=False)
    assert (run / "config.toml").read_bytes() == config
    (run / "config.toml").write_bytes(config.replace(b"784", b"785"))
    with pytest.raises(CheckpointError, match=r"config\.toml: step-\d+ was trained by a config\.toml of SHA-256"):
        load_run(run)
    with pytest.warns(
        RunWarning,
        match=r"config\.toml must say what recipe\.json does: it was changed or damaged, and is written anew",
    ):
        resume(run, progress=False)
    assert (run / "config.toml").read_bytes() == config
    load_run(run)


def test_validation_is_kept_apart(samples: Samples) -> None:
    kept, apart = samples.split(0.25, seed=3)
    assert (len(kept), len(apart)) == (48, 16)
    assert sorted([*kept, *apart]) == list(range(64))
    np.testing.assert_array_equal(apart, samples.split(0.25, seed=3)[1])
    assert set(samples.split(0.25, seed=4)[1]) != set(apart)
    result = train(recipe("mlp").changed({"epochs": 2, "validation": 0.25}), samples, progress=False)
    assert {measured.split for measured in result.history.evaluations} == {"validation"}
    plain = train(recipe("mlp").changed({"epochs": 2, "validation": 0.0}), samples, progress=False)
    assert {measured.split for measured in plain.history.evaluations} == {"test"}


def test_a_recipe_of_ones_own(samples: Samples) -> None:
    mine = Recipe("mine", recipe("mlp").model, {"type": "Adam", "lr": 1e-3}, epochs=3)
    result = train(mine, samples, progress=False)
    assert result.folder is None
    assert result.history.losses[-1] < result.history.losses[0]


# --------------------------------------------------------------------------------------------------------- in bytes


def test_what_runs_for_a_model() -> None:
    """A chain of the same layers; a stack within a stack, which no chain can hold, stays as it is."""
    model = recipe("lenet5").checked().model().init(PCG32(0))
    quick, sizes = computed(model)
    assert isinstance(quick, Sequential)
    assert sizes == (28, 28, 1)
    assert all(quick.state_dict()[name] is array for name, array in model.state_dict().items())
    linear = '[[layer]]\ntype = "Linear"\nin_features = 4\nout_features = 4\n'
    within = (
        f'format = 1\ninput = [4]\n{linear}[[layer]]\ntype = "Stack"\ninput = [2, 2]\nlayers = [{{ type = "ReLU" }}]\n'
    )
    nested = loads(within).model()
    assert computed(nested) == (nested, (4,))


def test_a_model_is_built_once(samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From a config, for a run and when that is resumed; a recipe in code is built a second time, from the config that
    is written.
    """
    built: list[object] = []
    construct = Linear.__init__

    @functools.wraps(construct)
    def counted(self: Any, *arguments: Any, **named: Any) -> None:
        built.append(self)
        construct(self, *arguments, **named)

    monkeypatch.setattr(Linear, "__init__", counted)
    (tmp_path / "model.toml").write_text(dumps(Input(28, 28, 1) >> Flatten() >> Linear(784, 10)))
    built.clear()
    one = replace(find(str(tmp_path / "model.toml")), epochs=1)
    train(one, "digits", run=tmp_path / "run")
    assert len(built) == 1
    resume(tmp_path / "run")
    assert len(built) == 2
    predict(tmp_path / "run", [])
    assert len(built) == 3
    again = train(one, samples)  # another training has a model of its own
    assert len(built) == 4
    assert again.model.parameters()[0] is not train(one, samples).model.parameters()[0]
    built.clear()
    train(Recipe("own", lambda: Input(28, 28, 1) >> Flatten() >> Linear(784, 10), {"type": "SGD", "lr": 0.1}), samples)
    assert len(built) == 2


@pytest.mark.parametrize("version", [1, 11])
def test_an_older_run_goes_on_as_it_began(
    samples: Samples, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: int
) -> None:
    """Format 1 knew little of what a recipe has, and format 11 whether chains are fused: such a run is resumed to the
    bits of one that was never stopped.
    """
    one = recipe("mlp").changed({"epochs": 4, "validation": 0.0, "batch_size": 10})
    whole = train(one, samples, run=tmp_path / "whole", progress=False)
    train(one, samples, run=tmp_path / "older", progress=False, time_limit=1e-9)
    path = tmp_path / "older" / "recipe.json"
    saved = json.loads(path.read_text(encoding="utf-8"))
    assert saved["format"] == 12
    saved["format"] = version
    if version > 1:
        saved["recipe"]["fuse"] = True
    for later in (
        ()
        if version > 1
        else ("task", "class_weight", "top_k", "freeze", "fold", "precision", "sync_batchnorm", "compile")
    ):
        del saved["recipe"][later]
    path.write_text(json.dumps(saved), encoding="utf-8")
    # nor did it note these
    rewritten(tmp_path / "older" / "checkpoints" / "step-00000000", lambda state: state.pop("configs"))
    monkeypatch.setattr(plan, "load_data", lambda name, announce: samples)
    resumed = resume(tmp_path / "older", progress=False)
    assert resumed.history.steps == whole.history.steps > 1
    for name, weights in whole.model.named_parameters().items():
        np.testing.assert_array_equal(resumed.model.named_parameters()[name], weights, err_msg=name)


@pytest.mark.parametrize("name", ["lenet5", "mlp"])
def test_bytes_train_as_floats_do(samples: Samples, name: str) -> None:
    """Pixels kept as bytes are scaled batch by batch, to the bits of an array scaled as a whole."""
    in_bytes = replace(samples, x=samples.x.astype(np.uint8), test_x=samples.test_x.astype(np.uint8))
    one = recipe(name).changed({"epochs": 2, "batch_size": 10})
    plans = [plan_for(one, each, {"name": "pictures"}) for each in (samples, in_bytes)]
    assert plans[0].to_text() == plans[1].to_text(), "scaling and checksum are those of the numbers"
    scaling = plans[0].scaling
    whole = (samples.x - np.float32(scaling.mean)) / np.float32(scaling.deviation)
    np.testing.assert_array_equal(
        np.concatenate([scaling(in_bytes.x[row : row + 7]) for row in range(0, 64, 7)]), whole
    )
    floats, read = (train(one, each, progress=False) for each in (samples, in_bytes))
    assert floats.history.losses == read.history.losses
    np.testing.assert_array_equal(floats.test.confusion, read.test.confusion)
    for key, weights in floats.model.named_parameters().items():
        np.testing.assert_array_equal(read.model.named_parameters()[key], weights, err_msg=key)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_mean_and_deviation(dtype: Any) -> None:
    x = np.random.default_rng(0).integers(0, 256, (3000, 9, 7, 1)).astype(dtype)
    found = Scaling.of(x)
    np.testing.assert_allclose(
        [found.mean, found.deviation], [x.mean(dtype=np.float64), x.std(dtype=np.float64)], rtol=1e-7
    )


def test_a_recipe_of_a_config_with_another_model_is_of_that_model(tmp_path: Path) -> None:
    config = tmp_path / "model.toml"
    config.write_text(
        'format = 1\ninput = [4]\n[[layer]]\ntype = "Linear"\nin_features = 4\nout_features = 2\n', encoding="utf-8"
    )
    other = replace(recipe_of_config(config), model=lambda: Input(4) >> Linear(4, 3) >> ReLU() >> Linear(3, 2))
    assert [type(part).__name__ for part in other.checked().model().parts] == ["Linear", "ReLU", "Linear"]
