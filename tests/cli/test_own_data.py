"""typednn train on data of one's own, without a config: what is chosen, said, kept, and used again by
eval and predict.
"""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.recipes.test_choosing import write_houses, write_photos, write_towns

Command = Callable[..., Any]


def test_numbers_of_a_table(at_once: Command, tmp_path: Path) -> None:
    write_houses(tmp_path / "houses.csv")
    done = at_once(
        "train",
        "--data",
        "houses.csv",
        "--target",
        "price",
        "--task",
        "regression",
        "--set",
        "max_steps=500",
        "--run",
        "run",
    )
    assert done.returncode == 0, done.stderr
    assert "chosen: 2 columns to one number; AdamW, lr 0.003 under CosineLR, batches of 32" in done.stderr
    assert "houses.csv, of which 80 rows are kept apart to test; 320 to train on, 80 to test" in done.stderr
    assert re.search(
        r"^step 100  validation loss \S+  validation mse \S+  validation mae \S+  validation r2 0\.\d+$",
        done.stderr,
        re.MULTILINE,
    )
    assert re.search(r"^RMSE     \d+", done.stdout, re.MULTILINE)
    assert float(re.findall(r"test R² (\S+),", done.stdout)[0]) > 0.99
    (tmp_path / "new.csv").write_text("year,area\n2000,100\n")
    said = json.loads(at_once("predict", "run", "new.csv", "--json").stdout)
    assert said["values"] == pytest.approx([310000], rel=0.05)
    whole = at_once("eval", "run", "--data", "houses.csv")
    assert whole.stdout.startswith("samples  400\n"), whole.stderr
    other = at_once("predict", "run", "houses.csv")
    assert other.returncode == 0, "further columns are left out"
    (tmp_path / "less.csv").write_text("area\n100\n")
    less = at_once("predict", "run", "less.csv")
    assert less.returncode == 1
    assert "must have one column 'year', got 'area'" in less.stderr


def test_words_of_a_table(at_once: Command, tmp_path: Path) -> None:
    write_towns(tmp_path / "towns.csv")
    done = at_once("train", "towns.csv", "--target", "town", "--set", "max_steps=200", "--lr", "0.01", "--run", "run")
    assert done.returncode == 0, done.stderr
    assert "chosen: 2 columns to 3 classes; AdamW, lr 0.01 under CosineLR" in done.stderr
    assert re.search(r"^ *2 Ulm +[01]\.\d+", done.stdout, re.MULTILINE)
    (tmp_path / "new.csv").write_text("south,east\n1300,0\n")
    assert re.fullmatch(r"new\.csv\[0\]  Ulm  \d+\.\d%  \(.*\)\n", at_once("predict", "run", "new.csv").stdout)
    last = at_once("eval", "run", "--weights", "last")
    assert (last.returncode, last.stdout) == (0, at_once("eval", "run", "--weights", "latest").stdout)


def test_photos(at_once: Command, tmp_path: Path) -> None:
    """A folder per class; a photo of another size is brought to the run's."""
    write_photos(tmp_path / "photos", (40, 60), each=5)
    done = at_once("train", "--model", "mlp", "--data", "photos/", "--set", "max_steps=1", "--run", "run")
    assert done.returncode == 0, done.stderr
    assert (
        "chosen: 28 x 28 x 1 images to 3 classes; SGD, lr 0.025 under CosineLR, batches of 32, 1 epochs, "
        "1 steps; inputs standardised" in done.stderr
    )
    assert "12 to train on, 3 to test" in done.stderr
    write_photos(tmp_path / "more", (20, 20), each=1, ending="png")
    said = [
        json.loads(line)
        for line in at_once("predict", "run", "more/red/0.png", "photos/blue/0.jpg", "--json").stdout.splitlines()
    ]
    assert [list(line["probabilities"]) for line in said] == [["blue", "green", "red"]] * 2
    assert at_once("eval", "run", "--data", "more").stdout.count("0 blue") == 2


def test_a_finished_run_says_so(at_once: Command, tmp_path: Path) -> None:
    write_towns(tmp_path / "towns.csv", 60)
    train = ("train", "towns.csv", "--target", "town", "--set", "max_steps=4", "--run", "run")
    assert at_once(*train, "--time-limit", "1e-9").returncode == 0
    rest = at_once("resume", "run")
    assert rest.returncode == 0
    assert "nothing was trained" not in rest.stderr
    again = at_once("resume", "run")
    assert again.returncode == 0
    assert "the run had ended after 4 steps: nothing was trained" in again.stderr
    assert re.search(r"^train .*, in run$", at_once("resume", "run", "-q").stdout, re.MULTILINE)


def test_options_behind_files(at_once: Command, files: Path) -> None:
    """Files may stand behind options, where argparse takes none."""
    done = at_once("train", files / "model.toml", "--epochs", "1", "-q", files / "train.csv", files / "test.csv")
    assert done.returncode == 0, done.stderr


def test_how_a_table_was_read_is_told(at_once: Command, tmp_path: Path) -> None:
    """In a line, when a run trains, is measured and predicts; an option decides what the file leaves open, and the run
    keeps it.
    """
    rows = [f"{kind};{number},5" for number in range(30) for kind in (10115, 90210)]
    (tmp_path / "codes.csv").write_text("\n".join(["code;gro\u0308\u00dfe", *rows]))
    train = ("train", "codes.csv", "--target", "code", "--set", "max_steps=2")
    done = at_once(*train, "--task", "classification", "--run", "run")
    assert done.returncode == 0, done.stderr
    read = "line 1 holds names, delimiter ';', decimal ','"
    assert f"\nread: {read}; the target 'code': whole numbers, 2 classes: 10115, 90210\n" in done.stderr
    assert "read: " + read + "; the target 'code': numbers, a regression\n" in at_once(*train, "--run", "other").stderr
    assert f"read: {read}\n" in at_once("eval", "run", "--data", "codes.csv").stderr
    (tmp_path / "new.csv").write_text("gr\u00f6\u00dfe\n1.5\n2.5\n")
    said = at_once("predict", "run", "new.csv")
    assert said.stderr == "new.csv: line 1 holds names, delimiter ',', decimal '.'\n"
    assert [line.split()[1] in ("10115", "90210") for line in said.stdout.splitlines()] == [True, True]
    again = at_once("eval", "run", "--decimal", ",")
    assert (again.returncode, "say how other data are written, got no data; add" in again.stderr) == (1, True)


def test_what_a_table_leaves_open_is_decided_by_an_option(at_once: Command, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("".join(f"1,{number:03};{number}\n" for number in range(100, 130)))
    train = ("train", "--data", "t.csv", "--task", "regression", "--set", "max_steps=2", "-q")
    for options, words in (
        ((), "got '1,100', which may be 1.100 or 1100; if it is decimal, pass decimal=',' (--decimal ,)"),
        (("--decimal", ",", "--delimiter", "tab"), "t.csv: "),
        (("--decimal", ",", "--header", "perhaps"), "argument --header: expected yes or no, got 'perhaps'"),
    ):
        done = at_once(*train, *options)
        assert done.returncode in (1, 2)
        assert words in done.stderr
    assert not (tmp_path / "runs").exists()
    assert at_once(*train, "--decimal", ",", "--header", "no", "--run", "run").returncode == 0
    (tmp_path / "new.csv").write_text("100\n1,234\n")
    assert len(at_once("predict", "run", "new.csv", "--delimiter", ";").stdout.splitlines()) == 2, (
        "the run keeps its decimal mark"
    )
    assert at_once("resume", "run", "-q").returncode == 0
    kept = json.loads((tmp_path / "run" / "recipe.json").read_text())["data"]
    assert (kept["decimal"], kept["header"]) == (",", "false")
    assert (
        "--header: says how a table is read, got data 'spiral'"
        in at_once("train", "--data", "spiral", "--header", "yes").stderr
    )


def test_no_row_is_lost_to_names(at_once: Command, tmp_path: Path) -> None:
    """Inputs whose first line has a missing value, which is filled; or refused, as training was told."""
    (tmp_path / "t.csv").write_text("".join(f"{row},{row},1\n" for row in range(30)))
    for run, missing in (("run", "fill"), ("strict", "error")):
        options = ("--task", "regression", "--set", "max_steps=2", "-q", "--run", run, "--missing", missing)
        assert at_once("train", "--data", "t.csv", *options).returncode == 0
    for first in (",1", "NA,1"):
        (tmp_path / "new.csv").write_text(f"{first}\n2,3\n")
        said = at_once("predict", "run", "new.csv")
        assert (said.returncode, said.stdout.count("\n")) == (0, 2)
        assert "gaps where training had none, filled: 'column 2'" in said.stderr
        said = at_once("predict", "strict", "new.csv")
        assert (said.returncode, said.stdout) == (1, "")
        assert "new.csv: line 1, column 1 ('column 2') must have a value" in said.stderr


def test_an_export_tells_the_classes(at_once: Command, tmp_path: Path) -> None:
    """In the metadata of an ONNX file, and in a line."""
    onnx: Any = pytest.importorskip("onnx")
    write_towns(tmp_path / "towns.csv", 60)
    assert (
        at_once("train", "towns.csv", "--target", "town", "--set", "max_steps=2", "--run", "run", "-q").returncode == 0
    )
    done = at_once("export", "run", "--to", "onnx", "--output", "towns.onnx")
    assert done.returncode == 0, done.stderr
    assert "the model's outputs are the classes 0 Graz, 1 Jena, 2 Ulm\n" in done.stderr
    (entry,) = onnx.load(tmp_path / "towns.onnx").metadata_props
    assert (entry.key, json.loads(entry.value)) == ("names", ["Graz", "Jena", "Ulm"])


def test_an_export_tells_what_it_reads(at_once: Command, tmp_path: Path) -> None:
    """An ONNX file reads the table's columns; of the model alone the line says what becomes of them."""
    pytest.importorskip("onnx")
    (tmp_path / "t.csv").write_text("y,w,a\n" + "".join(f"{n}.5,{'uv'[n % 2]},{n % 7}\n" for n in range(40)))
    args = ("--target", "y", "--set", "max_steps=2", "--run", "run", "-q")
    assert at_once("train", "t.csv", *args).returncode == 0
    done = at_once("export", "run", "--to", "onnx", "--output", "t.onnx")
    assert (done.returncode, done.stderr) == (0, "the file's inputs are the columns w (words), a\n")
    done = at_once("export", "run", "--to", "npz", "--output", "t.npz")
    assert "the model's inputs are the columns w=u, w=v, a, as typednn docs data says\n" in done.stderr
    assert "the model reads scaled numbers: (x - [" in done.stderr
    assert "the model answers in scaled numbers: y * " in done.stderr
