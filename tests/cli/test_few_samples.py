"""What helps where samples are few: only the last layer learns, and folds."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.recipes.test_choosing import write_houses, write_photos, write_towns
from tests.recipes.test_fine_tuning import published
from typednn.models import resnet18

Command = Callable[..., Any]


def test_the_last_layer_learns(at_once: Command, tmp_path: Path) -> None:
    write_photos(tmp_path / "photos", (80, 90), each=5)
    published(tmp_path / "r.safetensors", resnet18(9, image=(64, 64, 3)))
    call = ("train", "--model", "resnet18", "--data", "photos", "--from", "r.safetensors", "--dry-run")
    done = at_once(*call, "--freeze", "-1")
    assert done.returncode == 0, done.stderr
    assert "learns: fc, 1,539 parameters; frozen: the layers before, 11,176,512 parameters" in done.stderr
    assert "learns:" not in at_once(*call).stderr
    wrong = at_once(*call, "--freeze", "9")
    assert (wrong.returncode, wrong.stdout) == (1, "")
    assert wrong.stderr.startswith("typednn train: freeze: of 9 layers with parameters one learns at least, got 9")
    assert at_once(*call, "--freeze", "fc").returncode == 2


def test_folds_of_a_table(at_once: Command, tmp_path: Path) -> None:
    """A run for each, and the mean of what their last evaluations say; runs and report show them."""
    write_towns(tmp_path / "towns.csv")
    call = ("train", "towns.csv", "--target", "town", "--set", "max_steps=20", "--run", "all")
    assert "few samples: --folds 5 trains five times" in at_once(*call, "--dry-run").stderr
    done = at_once(*call, "--folds", "3")
    assert done.returncode == 0, done.stderr
    assert "folds: 3 trainings, each validated on another part of the samples to train on" in done.stderr
    assert "few samples" not in done.stderr
    accuracies = []
    for number in (1, 2, 3):
        folder = tmp_path / "all" / f"fold-{number}"
        assert json.loads((folder / "recipe.json").read_text())["recipe"]["fold"] == f"{number}/3"
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        accuracies += [[line["accuracy"] for line in lines if line["kind"] == "evaluation"][-1]]
    *each, last = done.stdout.splitlines()
    assert [re.sub(r"[\d.]+%", "_", line) for line in each] == [
        f"fold {number} of 3: train accuracy _, test accuracy _, in all/fold-{number}" for number in (1, 2, 3)
    ]
    mean, deviation = np.mean(accuracies), np.std(accuracies, ddof=1)
    told = f"validation accuracy {mean:.2%} ± {deviation:.2%}: mean of 3 folds ± standard deviation between them"
    assert last == told
    assert at_once("runs", "all").stdout.count("fold-") == 3
    assert at_once("eval", "all/fold-2").returncode == 0


def test_folds_of_numbers(at_once: Command, tmp_path: Path) -> None:
    write_houses(tmp_path / "houses.csv")
    settings = ("--task", "regression", "--set", "max_steps=5", "--run", "all", "-q")
    done = at_once("train", "--data", "houses.csv", "--target", "price", *settings, "--folds", "2")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^validation R² -?[\d.]+ ± [\d.]+, MAE \S+ ± \S+: mean of 2 folds", done.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("call", "code", "message"),
    [
        (("train", "towns.csv", "--folds", "1"), 2, "expected a whole number, at least 2, got '1'"),
        (("resume", "run", "--folds", "5"), 2, "no option '--folds'; a run keeps the settings that it began with"),
        (("train", "towns.csv", "--cv", "5"), 2, "here it is: --folds 5"),
        (("train", "towns.csv", "--target", "town", "--folds", "999"), 1, "999 parts need 999 samples of each class"),
        (("train", "towns.csv", "--set", "fold=6/5"), 1, "fold is one part of two or more, got '6/5'; such as 2/5"),
        (("train", "gpt2", "--data", "towns.txt", "--folds", "2"), 1, "fold is of samples, got a text"),
    ],
)
def test_wrong_folds(at_once: Command, tmp_path: Path, call: tuple[str, ...], code: int, message: str) -> None:
    """Before a folder is made."""
    write_towns(tmp_path / "towns.csv")
    (tmp_path / "towns.txt").write_text("Ulm, Bonn, Kiel. " * 99)
    done = at_once(*call)
    assert (done.returncode, done.stdout) == (code, "")
    assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "runs").exists()
