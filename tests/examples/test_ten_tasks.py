"""examples/ten_tasks: each script does its task, in about as many statements as the script for Keras beside it.

The scripts for Keras were run by hand, with Keras 3.15.1: no test needs it.
"""

import ast
import re
import runpy
import warnings
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("PIL")

from examples.ten_tasks.make_data import make
from website.notebooks import REPOSITORY, execute, read, text

FOLDER = REPOSITORY / "examples" / "ten_tasks"
# What each prints at its end, and what the number in it must reach: less than a half of the error of the mean, or a
# share that is right.
RESULTS: dict[str, tuple[str, float]] = {
    "photo_folder": (r"test accuracy ([\d.]+)\nzero\n", 0.9),
    "augmentation": (r"test accuracy ([\d.]+)\n", 0.9),
    "own_layer": (r"accuracy ([\d.]+)\n", 0.9),
    "residual": (r"test accuracy ([\d.]+)\n", 0.8),
    "text": (r"test accuracy ([\d.]+)\n", 0.95),
    "grid_search": (r"\{'classifier__learning_rate': 0.01, 'classifier__model': \(64,\)\} ([\d.]+)\n", 0.9),
    "resume": (r"test accuracy ([\d.]+)\n", 0.85),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data")
    make(folder)
    return folder


@pytest.fixture
def here(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that sees the data, for what a script writes."""
    for each in data.iterdir():
        (tmp_path / each.name).symlink_to(each)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        runpy.run_module(f"examples.ten_tasks.{name}", run_name="__main__")
    return capsys.readouterr().out


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("name", RESULTS)
def test_each_does_its_task(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    pattern, least = RESULTS[name]
    found = re.fullmatch(pattern, run(name, capsys))
    assert found is not None
    assert float(found[1]) >= least


@pytest.mark.usefixtures("here")
def test_a_regression_is_better_than_the_mean(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The mean progression as the answer for everybody is off by 66; a straight line by about 43."""
    found = re.fullmatch(r"mean absolute error ([\d.]+)\n", run("csv_regression", capsys))
    assert found is not None
    assert float(found[1]) < 50


@pytest.mark.parity
@pytest.mark.usefixtures("here")
def test_models_travel(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("onnxruntime")
    assert run("exchange", capsys) == "PyTorch, typednn and ONNX Runtime agree\n"


def test_the_notebook(tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    digits, model, history, labels = execute(read("ten_tasks/notebook"), tmp_path)
    assert "<img" in digits[0].data["text/html"]
    assert "Linear(784, 32)" in model[0].data["text/html"]
    assert "<svg" in history[-1].data["text/html"]
    assert re.fullmatch(r"array\(\[(\d, ){9}\d\]\)", labels[0].data["text/plain"])
    assert text(history) == ""


# ------------------------------------------------------------------ statements


def source(path: Path) -> str:
    """A script's text, or that of a notebook's cells."""
    if path.suffix == ".py":
        return path.read_text()
    cells: list[Any] = read(f"ten_tasks/{path.stem}").cells
    return "\n".join(cell.source for cell in cells if cell.cell_type == "code")


def statements(code: str) -> int:
    """All but docstrings, those within functions and classes too."""
    return sum(
        isinstance(node, ast.stmt)
        and not (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        )
        for node in ast.walk(ast.parse(code))
    )


def test_statements_are_counted() -> None:
    assert (
        statements('"""A text."""\nimport a, b\n\nx = [\n    1,\n]\ndef f():\n    """A text."""\n    return 1\n') == 4
    )


@pytest.mark.parametrize("keras", sorted((FOLDER / "keras").glob("*.py")), ids=lambda path: path.stem)
def test_about_as_many_statements_as_with_keras(keras: Path) -> None:
    """At most 1.2 times as many."""
    script = FOLDER / keras.name
    ours = statements(source(script if script.exists() else script.with_suffix(".ipynb")))
    assert ours <= 1.2 * statements(source(keras))


def test_there_are_ten() -> None:
    assert len(list((FOLDER / "keras").glob("*.py"))) == 10
