"""Runs side by side: what is listed of whole, young, damaged and foreign folders."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from typednn.errors import ArgumentError, DataError
from typednn.runs.overview import BestEvaluation, as_table, runs_in
from typednn.screen import columns


def a_run(folder: Path, lines: list[dict[str, Any]], recipe: dict[str, Any] | None = None, changed: int = 0) -> Path:
    folder.mkdir(parents=True)
    (folder / "metrics.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    if recipe is not None:
        (folder / "recipe.json").write_text(json.dumps(recipe), encoding="utf-8")
    for file in folder.iterdir():
        os.utime(file, (changed, changed))
    return folder


def step(number: int, epoch: int = 1) -> dict[str, Any]:
    return {"kind": "step", "step": number, "epoch": epoch, "loss": 1.0, "lr": 0.1, "seconds": 1.0}


def measured(number: int, split: str, loss: float | None, accuracy: float | None = None) -> dict[str, Any]:
    return {"kind": "evaluation", "step": number, "epoch": 1, "split": split, "loss": loss, "accuracy": accuracy}


RECIPE = {"recipe": {"name": "lenet5", "epochs": 5}, "data": {"name": "mnist"}}


def test_a_line_for_each_the_newest_last(tmp_path: Path) -> None:
    a_run(tmp_path / "young", [], changed=30)
    a_run(
        tmp_path / "b",
        [step(1), measured(1, "validation", 0.5, 0.8), step(1200, 2), measured(1200, "validation", 0.6, 0.9)],
        RECIPE,
        changed=10,
    )
    a_run(
        tmp_path / "a",
        [step(1), measured(1, "test", 0.25), measured(2, "test", None), measured(3, "test", 0.75)],
        {"recipe": {"name": "mlp"}, "data": {"train": "folder/houses.csv", "test": "t.csv"}},
        changed=20,
    )
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").touch()
    found = runs_in(tmp_path)
    assert [run.name for run in found] == ["b", "a", "young"]
    assert found[0].best == BestEvaluation("validation", "accuracy", 0.9, 1200)
    assert found[1].best == BestEvaluation("test", "loss", 0.25, 1)
    assert (found[0].epoch, found[0].epochs, found[0].steps) == (2, 5, 1200)
    assert (found[1].epoch, found[1].epochs, found[1].data) == (1, None, "houses.csv")
    assert (found[2].model, found[2].epoch, found[2].steps, found[2].best, found[2].result) == ("", None, 0, None, "")
    assert as_table(found) == [
        "run    model   data        epochs  steps  best",
        "b      lenet5  mnist          2/5  1,200  validation accuracy 90.00 % at step 1,200",
        "a      mlp     houses.csv       1      1  test loss 0.2500 at step 1",
        "young",
    ]
    assert runs_in(tmp_path / "a") == [found[1]]


def test_sorted_by_a_column(tmp_path: Path) -> None:
    """The best, the most and the newest last; what is not known first."""
    for name, changed, steps, split in (
        ("a", 3, 40, measured(1, "test", 0.5, 0.8)),
        ("b", 2, 50, measured(1, "test", 0.1, 0.7)),
        ("c", 1, 9, measured(1, "test", 0.3)),
        ("d", 4, 60, measured(1, "test", 0.2)),
    ):
        a_run(tmp_path / name, [split, step(steps)], RECIPE if name == "c" else None, changed)
    a_run(tmp_path / "e", [], changed=5)
    for sort, expected in {
        "changed": "cbade",
        "run": "abcde",
        "steps": "ecabd",
        "epochs": "ecbad",
        "model": "badec",
        "best": "ebacd",
    }.items():
        assert "".join(run.name for run in runs_in(tmp_path, sort)) == expected, sort
    with pytest.raises(ArgumentError, match="sort must be one of 'changed', 'run', 'model', 'data'"):
        runs_in(tmp_path, "accuracy")


def test_a_run_without_a_recipe_has_a_model_and_epochs(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", [step(1, 2)])
    (run / "model.txt").write_text("     Chain\n  0  Linear(4, 2)\n10 parameters\n")
    (run / "starts.jsonl").write_text('{"settings": {"epochs": 5}}\n')
    (found,) = runs_in(tmp_path)
    assert (found.model, found.epoch, found.epochs) == ("Chain, 10 parameters", 2, 5)
    (run / "model.txt").write_text("cut")
    assert runs_in(tmp_path)[0].model == ""


def test_the_first_of_equals_is_the_best(tmp_path: Path) -> None:
    a_run(tmp_path / "run", [measured(number, "test", 0.5, 0.75) for number in (3, 4, 5)])
    assert runs_in(tmp_path)[0].best == BestEvaluation("test", "accuracy", 0.75, 3)


def test_damage_is_told(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run", [step(1)], RECIPE)
    (run / "recipe.json").write_text("[1, 2")
    (run / "report.json").write_text('{"task": "sorting"}')
    with (run / "metrics.jsonl").open("a") as stream:
        stream.write("nonsense\n")
    (found,) = runs_in(tmp_path)
    assert (found.steps, found.model) == (1, "")
    about = [remark.partition(" ")[0].strip(":") for remark in found.remarks]
    assert about == ["recipe.json", "report.json", "metrics.jsonl"]


@pytest.mark.parametrize("plan", [{"recipe": 3, "data": None}, {"recipe": {"name": 3, "epochs": True}, "data": {}}, {}])
def test_what_is_not_what_it_should_be_is_left_out(tmp_path: Path, plan: dict[str, Any]) -> None:
    a_run(tmp_path / "run", [step(1)], plan)
    (found,) = runs_in(tmp_path)
    assert (found.model, found.data, found.epochs) == ("", "", None)


def test_folders_without_runs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="must hold runs, folders that training wrote, got none; typednn train"):
        runs_in(tmp_path)
    with pytest.raises(DataError, match="must hold runs, folders that training wrote, got no folder; typednn train"):
        runs_in(tmp_path / "missing")


def test_columns_of_text() -> None:
    assert columns([("name", "n"), ("a", "1"), ("", "20")], right=[1]) == ["name   n", "a      1", "      20"]
    assert columns([("a", ""), ("bc", "")]) == ["a", "bc"]
