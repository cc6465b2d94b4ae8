"""Folds: each sample is validated once, a fold is an ordinary run, and the mean is that of their metrics."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.errors import ArgumentError
from typednn.recipes import Samples, across, folds_of, recipe, resume, train
from typednn.recipes.plan import read_plan

pytestmark = pytest.mark.usefixtures("on_the_reference")


def rows() -> Samples:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(60, 4)).astype(np.float32), np.arange(60) % 3
    x[:, 0] += y
    return Samples("rows", "here", x[:45], y[:45], x[45:], y[45:], ("a", "b", "c"))


def small(**more: Any) -> Any:
    return recipe("mlp").changed({"epochs": 3, "batch_size": 9, "validation": 0.0, **more})


def test_each_sample_is_validated_once() -> None:
    """As many of each class in each part; another seed shares them out otherwise."""
    samples = rows()
    every = folds_of(small(), samples, 5)
    assert [each.fold for each in every] == ["1/5", "2/5", "3/5", "4/5", "5/5"]
    assert {each.validation for each in every} == {0.2}
    held = [samples.split(each.validation, each.seed, each.stratify, each.fold)[1] for each in every]
    assert sorted(np.concatenate(held)) == list(range(45))
    assert all(np.bincount(samples.y[part]).tolist() == [3, 3, 3] for part in held)
    other = folds_of(small(seed=1), samples, 5)[0]
    assert samples.split(0.2, other.seed, fold=other.fold)[1].tolist() != held[0].tolist()


@pytest.mark.parametrize("patience", [None, 1])
def test_the_mean_of_what_was_measured(patience: int | None) -> None:
    """Of the weights that each has at the end, on the part that it did not train on."""
    samples = rows()
    every = folds_of(small(validation=0.5, patience=patience), samples, 3)
    results = [train(each, samples, progress=False) for each in every]
    accuracies = []
    for each, result in zip(every, results, strict=True):
        held = samples.split(each.validation, each.seed, fold=each.fold)[1]
        scores = result.model.eval().forward(result.plan.scaling(samples.x[held]))
        accuracies.append(np.mean(scores.argmax(axis=1) == samples.y[held]))
    told = f"validation accuracy {np.mean(accuracies):.2%} ± {np.std(accuracies, ddof=1):.2%}: mean of 3 folds"
    assert across(results).startswith(told)
    assert across(results).endswith("by which its weights were chosen") == (patience is not None)
    with pytest.raises(ArgumentError, match="needs the results of two folds at least, got 1"):
        across(results[:1])


def test_a_fold_is_resumed_with_its_samples(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    samples = rows()
    monkeypatch.setattr("typednn.recipes.plan.samples_of", lambda *_: samples)
    one = folds_of(small(), samples, 5)[1]
    whole = train(one, samples, run=tmp_path / "whole", progress=False)
    train(one, samples, run=tmp_path / "run", progress=False, time_limit=1e-9)
    assert read_plan(tmp_path / "run").recipe.fold == "2/5"
    resumed = resume(tmp_path / "run", progress=False)
    assert resumed.history.losses == whole.history.losses
    assert resumed.history.evaluations == whole.history.evaluations


def test_a_run_of_an_older_format(tmp_path: Path) -> None:
    """Format 8 knew neither folds nor frozen layers."""
    train(small(), rows(), run=tmp_path / "run", progress=False)
    path = tmp_path / "run" / "recipe.json"
    saved = json.loads(path.read_text())
    del saved["recipe"]["fold"], saved["recipe"]["freeze"]
    path.write_text(json.dumps({**saved, "format": 8}))
    older = read_plan(tmp_path / "run").recipe
    assert (older.fold, older.freeze) == ("", 0)


@pytest.mark.parametrize("fold", ["0/5", "6/5", "1/1", "2", "a/b", "-1/5", "1/", "²/5"])
def test_no_fold(fold: str) -> None:
    with pytest.raises(ArgumentError, match="recipe 'mlp': fold is one part of two or more"):
        small(fold=fold)


def test_what_cannot_be_shared_out() -> None:
    with pytest.raises(ArgumentError, match="folds must be an integer of at least 2, got 1"):
        folds_of(small(), rows(), 1)
    with pytest.raises(ArgumentError, match="16 parts need 16 samples of each class to share out, got 15 of class 0"):
        folds_of(small(), rows(), 16)
    parted = replace(rows(), validation=5)
    with pytest.raises(ArgumentError, match="folds are of all training samples, got data with a validation part"):
        folds_of(small(), parted, 2)
