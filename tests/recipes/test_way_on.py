"""A way on: more epochs of a run, also of one that stopped early; another training from its weights."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError, CheckpointError
from typednn.recipes import recipe, resume, train
from typednn.recipes.catalogue import starting_from
from typednn.recipes.plan import read_plan
from typednn.recipes.samples import Samples
from typednn.runs import Run
from typednn.runs.checksums import problems
from typednn.training import EarlyStopping

pytestmark = pytest.mark.usefixtures("on_the_reference")


def rows(classes: int = 3, seed: int = 0) -> Samples:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, 4)).astype(np.float32)
    y = np.arange(60) % classes
    x[:, 0] += y
    return Samples("rows", "here", x[:45], y[:45], x[45:], y[45:], tuple("abcde"[:classes]))


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> Samples:
    """The data of the runs, where they look for them again."""
    samples = rows()
    monkeypatch.setattr("typednn.recipes.plan.samples_of", lambda *_: samples)
    return samples


def constant(epochs: int, **more: Any) -> Any:
    """A recipe without a schedule, so that the length of the training has no part in its steps."""
    settings = {"optimizer": {"type": "SGD", "lr": 0.05, "momentum": 0.9}, "epochs": epochs, "batch_size": 10}
    return recipe("mlp").changed({**settings, "validation": 0.2, **more})


def test_more_epochs_are_those_of_a_longer_training(found: Samples, tmp_path: Path) -> None:
    """To the bit, where the learning rate does not follow the length; also after a stop within."""
    whole = train(constant(5), found, run=tmp_path / "whole", progress=False)
    train(constant(2), found, run=tmp_path / "run", progress=False)
    resume(tmp_path / "run", epochs=3, progress=False, time_limit=1e-9)
    result = resume(tmp_path / "run", progress=False)
    assert (result.history.steps, len(result.history.epochs)) == (whole.history.steps, 5)
    for name, weights in whole.model.named_parameters().items():
        np.testing.assert_array_equal(result.model.named_parameters()[name], weights, err_msg=name)
    assert problems(tmp_path / "run")[1] == []
    assert read_plan(tmp_path / "run").recipe.epochs == 5
    assert not resume(tmp_path / "run", progress=False).steps


def test_a_schedule_spans_the_whole(found: Samples, tmp_path: Path) -> None:
    schedule = {"optimizer.lr": {"type": "CosineLR", "lr": 0.05}}
    begun = train(constant(2).changed(schedule), found, run=tmp_path / "run", progress=False)
    resume(tmp_path / "run", epochs=2, progress=False)
    config = (tmp_path / "run" / "config.toml").read_text()
    assert f"total_steps = {2 * begun.history.steps}" in config


def test_an_early_end_goes_on(found: Samples, tmp_path: Path) -> None:
    """A plain resume trains nothing; more epochs count from anew, and end early again."""
    stopped = train(constant(300, patience=2), found, run=tmp_path / "run", progress=False)
    assert stopped.history.stopped == "early stopping"
    before = len(stopped.history.epochs)
    assert not resume(tmp_path / "run", progress=False).steps
    more = resume(tmp_path / "run", epochs=50, progress=False)
    assert before + 2 <= len(more.history.epochs) <= before + 50
    assert more.plan.recipe.start_from_epoch == before
    assert EarlyStopping(2, start_from_epoch=3).counts(4)
    assert not EarlyStopping(2, start_from_epoch=3).counts(3)


def test_other_configs_are_still_refused(found: Samples, tmp_path: Path) -> None:
    """Only those that the run itself has replaced are known."""
    train(constant(1), found, run=tmp_path / "run", progress=False)
    resume(tmp_path / "run", epochs=1, progress=False)
    path = tmp_path / "run" / "recipe.json"
    path.write_text(json.dumps(json.loads(path.read_text())))
    # the checkpoint before it was of the same run, and is refused too
    with pytest.raises(CheckpointError, match=r"was trained by a recipe\.json of SHA-256"):
        Run.open(tmp_path / "run", lock=False).latest()


def test_wrong_epochs(found: Samples, tmp_path: Path) -> None:
    train(constant(1), found, run=tmp_path / "run", progress=False)
    with pytest.raises(ArgumentError, match="epochs must be an integer of at least 1, got 0"):
        resume(tmp_path / "run", epochs=0)


def test_from_a_run(found: Samples, tmp_path: Path) -> None:
    """Its weights and recipe; of other classes the last layer is new, and the others are the run's."""
    first = train(constant(3), found, run=tmp_path / "run", progress=False)
    again = starting_from(str(tmp_path / "run"))
    assert (again.name, again.optimizer, again.batch_size) == ("mlp", constant(3).optimizer, 10)
    still = {"optimizer": {"type": "SGD", "lr": 1e-30}, "epochs": 1}
    same = train(again.changed(still), found, progress=False)
    other = train(again.changed(still), rows(5), progress=False)
    for name, weights in first.model.named_parameters().items():
        np.testing.assert_array_equal(same.model.named_parameters()[name], weights)
        fits = other.model.named_parameters()[name].shape == weights.shape
        assert fits == ("fc2" not in name)
        if fits:
            np.testing.assert_array_equal(other.model.named_parameters()[name], weights)
    first.model.save(tmp_path / "model.safetensors")
    from_file = replace(recipe("mlp"), weights=str(tmp_path / "model.safetensors")).changed(still)
    for name, weights in train(from_file, found, progress=False).model.named_parameters().items():
        np.testing.assert_array_equal(first.model.named_parameters()[name], weights)


def test_weights_of_another_model(found: Samples, tmp_path: Path) -> None:
    train(constant(1), found, run=tmp_path / "run", progress=False)
    one = replace(recipe("cnn"), weights=str(tmp_path / "run"))
    images = Samples(
        "images", "here", found.x.reshape(45, 2, 2, 1), found.y, found.test_x.reshape(15, 2, 2, 1), found.test_y
    )
    with pytest.raises(ArgumentError, match=r"must fit all layers but the last, by name and shape, got missing .conv1"):
        train(one, images, progress=False)


def test_few_photographs_hold_out_of_each_class(found: Samples) -> None:
    stay, out = found.split(0.2, 0, stratify=True)
    assert np.bincount(found.y[out]).tolist() == [3, 3, 3]
    assert sorted([*stay, *out]) == list(range(45))
    assert np.array_equal(np.sort(np.concatenate(found.split(0.2, 0))), np.arange(45))
