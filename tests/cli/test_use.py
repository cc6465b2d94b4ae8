"""typednn eval, predict and report, on a run that `typednn train` made."""

import importlib.util
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import environment
from tests.support.damage import rewritten

Command = Callable[..., Any]
ROWS = "2.1,0.1,-0.2,1.1\n-2.0,0.2,-1.1,-0.9\n"


def _refused(done: Any, *parts: str) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def test_eval_says_what_train_said(typednn: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """The saved weights are the ones that were reported on; with the run's own data, and with a file."""
    run = shutil.copytree(trained[0], tmp_path / "run")
    own = typednn("eval", "run")
    assert own.returncode == 0, own.stderr
    assert own.stdout.strip() in trained[1].stdout
    assert json.loads((run / "report.json").read_text(encoding="utf-8"))["support"]


def test_eval_on_a_table(at_once: Command, trained: tuple[Path, Any], files: Path) -> None:
    done = at_once("eval", trained[0], "--data", files / "train.csv")
    assert done.returncode == 0, done.stderr
    assert re.search(r"^accuracy \d+\.\d+% \(\d+ of 200\)$", done.stdout, re.MULTILINE)


def test_eval_on_data_that_do_not_fit(at_once: Command, trained: tuple[Path, Any]) -> None:
    _refused(at_once("eval", trained[0], "--data", "spiral"), "the model reads 4 numbers per sample, got 1 x 1 x 2")


def test_predict_rows(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """A line per input of each file: label, its probability, and the next best."""
    (tmp_path / "rows.csv").write_text("a,b,c,d\n" + ROWS, encoding="utf-8")
    np.save(tmp_path / "one.npy", np.array([0.1, 2.0, 1.1, 0.0]))
    done = at_once("predict", trained[0], "rows.csv", "one.npy")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines] == [["rows.csv[0]", "0"], ["rows.csv[1]", "2"], ["one.npy[0]", "1"]]
    assert all(re.search(r"\d+\.\d%  \(\d \d+\.\d%, \d \d+\.\d%\)$", line) for line in lines)


def test_predict_json(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    done = at_once("predict", trained[0], "rows.csv", "--json")
    first, second = map(json.loads, done.stdout.splitlines())
    assert (first["file"], first["index"], first["label"], first["name"], second["label"]) == ("rows.csv", 0, 0, "0", 2)
    assert list(first["probabilities"]) == ["0", "1", "2"]
    assert sum(first["probabilities"].values()) == pytest.approx(1.0, abs=1e-6)
    assert max(first["probabilities"].values()) == first["probabilities"]["0"]


@pytest.mark.parametrize(
    ("name", "content", "parts"),
    [
        ("none.csv", None, ["none.csv: must be a readable file, got No such file"]),
        (
            "short.csv",
            b"1,2,3\n",
            ["short.csv: must hold rows of 4 values, as in training, got 3", "leave the label out"],
        ),
        ("words.csv", b"1,2,3,4\na,b,c,d\n", ["line 2, column 1 ('a') must be a finite number, got 'a'"]),
        ("bad.npy", b"\x93NUMPY rubbish", ["bad.npy"]),
        ("picture.jpg", b"\xff\xd8\xff", ["reads NPY, CSV, TSV, Parquet and Arrow", "'.jpg'"]),
    ],
)
def test_bad_inputs(
    at_once: Command, trained: tuple[Path, Any], tmp_path: Path, name: str, content: bytes | None, parts: list[str]
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    _refused(at_once("predict", trained[0], name), *parts)


def test_standard_input(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """CSV from standard input, beside files, in the order of the arguments; messages call it by its name."""
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    done = at_once("predict", trained[0], "-", "rows.csv", "--json", stdin="a,b,c,d\n" + ROWS)
    assert done.returncode == 0, done.stderr
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [one["file"] for one in found] == ["standard input"] * 2 + ["rows.csv"] * 2
    assert [one["probabilities"] for one in found[:2]] == [one["probabilities"] for one in found[2:]]
    assert "standard input: line 1 holds names" in done.stderr
    _refused(
        at_once("predict", trained[0], "-", stdin="1,2,3,4\na,b,c,d\n"),
        "predict: standard input: line 2, column 1 ('a') must be a finite number, got 'a'",
    )
    _refused(at_once("predict", trained[0], "-", stdin=""), "standard input: must hold at least one row")
    _refused(at_once("predict", trained[0], "-", stdin=b"\xff\xfe"), "standard input: must be text in UTF-8")
    _refused(at_once("predict", trained[0], "."), ".: a folder holds images, got a model of rows; name its files")


def test_standard_input_is_bounded(
    at_once: Command, trained: tuple[Path, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TYPEDNN_DATA_LIMIT", "1K")
    _refused(
        at_once("predict", trained[0], "-", stdin="1,2,3,4\n" * 1000),
        "standard input: may take at most 1,024 bytes of memory, got 8,000",
    )


def test_a_closed_standard_input(trained: tuple[Path, Any]) -> None:
    command = f"{shlex.quote(sys.executable)} -m typednn predict {shlex.quote(str(trained[0]))} - <&-"
    done = subprocess.run(
        ["sh", "-c", command], env=environment(), capture_output=True, text=True, check=False, timeout=60
    )
    _refused(done, "standard input: must")


def test_a_run_is_checked(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """And each file that is not what was written is told, as text and as JSON."""
    run = shutil.copytree(trained[0], tmp_path / "run")
    done = at_once("check", "run")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.fullmatch(r"run: all of \d+ files are what was written\n", done.stdout)
    (run / "model.txt").write_text("another model\n")
    (run / "environment.json").unlink()
    done = at_once("check", "run")
    assert done.returncode == 1
    assert re.search(r"^run/model\.txt: has 14 bytes, had \d+$", done.stdout, re.MULTILINE)
    assert re.search(
        r"^run/environment\.json: is missing\nrun|^run: 2 problems in \d+ files$", done.stdout, re.MULTILINE
    )
    found = [json.loads(line) for line in at_once("check", "run", "--json").stdout.splitlines()]
    assert sorted((one["path"], one["code"]) for one in found) == [
        ("run/environment.json", "damage"),
        ("run/model.txt", "damage"),
    ]


def test_not_a_run(at_once: Command, tmp_path: Path) -> None:
    for command in (["eval", "nowhere"], ["predict", "nowhere", "x.png"], ["resume", "nowhere"]):
        _refused(at_once(*command), "nowhere: must be a run folder, with recipe.json", "`typednn train` makes one")
    (tmp_path / "empty").mkdir()
    _refused(at_once("eval", "empty"), "is it the folder of a run?")


def test_a_run_of_another_model(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """The weights of one model under the recipe of another: one error that says how they differ."""
    run = shutil.copytree(trained[0], tmp_path / "run")
    text = (run / "recipe.json").read_text(encoding="utf-8")
    (run / "recipe.json").write_text(
        text.replace("out_features = 8", "out_features = 9").replace("in_features = 8", "in_features = 9")
    )
    _refused(
        at_once("eval", "run"), "recipe.json: step-", "was trained by a recipe.json of SHA-256", "bring that file back"
    )
    for folder in (run / "checkpoints").glob("step-*"):
        rewritten(folder, lambda state: state.pop("configs"))  # as before checkpoints noted it
    _refused(at_once("eval", "run"), "Linear(4, 9)", "Linear(4, 8)", "use the config it was trained with")


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ('"format": 12', '"format": 13', "reads formats up to 12, got format 13; update typednn"),
        ('"scaling"', '"scalding"', "must be what typednn wrote, got no 'scaling'"),
        ('"epochs": 8', '"epochs": "8"', "epochs must be an integer"),
        ("{", "", "must be what typednn wrote, got no JSON"),
        ('"format": 12', '"format": 0', "must be what typednn wrote, got format 0"),
        ('"format": 12', '"format": -1', "must be what typednn wrote, got format -1"),
        ('"format": 12', '"format": "2"', "must be what typednn wrote, got format '2'"),
        ('"format": 12', '"format": null', "must be what typednn wrote, got format None"),
        ('"format": 12', '"format": true', "must be what typednn wrote, got format True"),
        ('"format": 12,', "", "must be what typednn wrote, got format None"),
        ('"deviation": [\n   ', '"deviation": [\n   1', "was trained by a recipe.json of SHA-256"),
        ('"loss": "softmax', '"loss": "softm', "loss must be"),
        ("\n", "\n\n", "was trained by a recipe.json of SHA-256"),
    ],
)
def test_a_damaged_recipe(
    at_once: Command, trained: tuple[Path, Any], tmp_path: Path, old: str, new: str, part: str
) -> None:
    run = shutil.copytree(trained[0], tmp_path / "run")
    text = (run / "recipe.json").read_text(encoding="utf-8")
    assert old in text
    (run / "recipe.json").write_text(text.replace(old, new, 1))
    _refused(at_once("eval", "run"), part)
    (tmp_path / "rows.csv").write_text(ROWS, encoding="utf-8")
    _refused(at_once("predict", "run", "rows.csv"), part)


def test_a_recipe_that_is_no_file(at_once: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """Opening a pipe would wait for ever."""
    run = shutil.copytree(trained[0], tmp_path / "run")
    (run / "recipe.json").unlink()
    os.mkfifo(run / "recipe.json")
    _refused(at_once("eval", "run"), "recipe.json", "must be a file")


def test_report(typednn: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """Training draws nothing: this command does, or says why it can't."""
    shutil.copytree(trained[0], tmp_path / "run")
    assert not (tmp_path / "run" / "plots").exists()
    done = typednn("report", "run")
    drawn = importlib.util.find_spec("matplotlib") is not None
    assert ("no pictures: " in done.stderr) != drawn
    assert (tmp_path / "run" / "plots" / "confusion.png").exists() == drawn
    assert done.returncode == 0, done.stderr
    page = tmp_path / done.stdout.strip()
    assert page.read_text(encoding="utf-8").lstrip().lower().startswith("<!doctype html>")
