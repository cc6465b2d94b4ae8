"""The command line in a process of its own, and small data to use it on."""

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from typednn.cli import main

REPOSITORY = Path(__file__).resolve().parents[2]

Done: TypeAlias = "subprocess.CompletedProcess[str]"
Command: TypeAlias = "Callable[..., Done]"

CONFIG = """\
format = 1
input = [4]

[[layer]]
type = "Linear"
name = "fc1"
in_features = 4
out_features = 8

[[layer]]
type = "ReLU"

[[layer]]
type = "Linear"
name = "fc2"
in_features = 8
out_features = 3

[optimizer]
type = "SGD"
lr = 0.1
momentum = 0.9

[init]
seed = 3
"""

PAPER_CONFIG = """\
20,2,2,1
####################
Flatten
Linear,4,8
ReLU
Linear,8,3
Softmax
####################
SGD,1.0
"""


def environment(**changes: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name != "TYPEDNN_DATA"}
    return {**kept, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY), **changes}


def table(rows: int, seed: int) -> str:
    """Rows of a label and four numbers around the label's corner."""
    rng = np.random.default_rng(seed)
    corners = np.array([[2, 0, 0, 1], [0, 2, 1, 0], [-2, 0, -1, -1]])
    labels = rng.integers(0, 3, rows)
    numbers = corners[labels] + 0.5 * rng.standard_normal((rows, 4))
    return "".join(
        f"{label}," + ",".join(f"{number:.4f}" for number in row) + "\n"
        for label, row in zip(labels, numbers, strict=True)
    )


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two configs and two tables; nothing is written there."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "model.toml").write_text(CONFIG, encoding="utf-8")
    (folder / "model.config").write_text(PAPER_CONFIG, encoding="utf-8")
    (folder / "train.csv").write_text("label,a,b,c,d\n" + table(200, 0), encoding="utf-8")
    (folder / "test.csv").write_text(table(60, 1), encoding="utf-8")
    return folder


def run_command(*arguments: str | Path, cwd: Path, **changes: str) -> Done:
    command = [sys.executable, "-W", "error", "-m", "typednn", *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=environment(**changes), capture_output=True, text=True, check=False, timeout=120
    )


@pytest.fixture
def typednn(tmp_path: Path) -> Command:
    """``typednn(*arguments)`` in an empty folder."""

    def run(*arguments: str | Path, **changes: str) -> Done:
        return run_command(*arguments, cwd=tmp_path, **changes)

    return run


@pytest.fixture
def at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Command:
    """``at_once(*arguments, stdin="")`` in an empty folder and within this process, which starts sooner."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str | Path, stdin: str | bytes = "") -> Done:
        given = stdin.encode() if isinstance(stdin, str) else stdin
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8"))
        capfd.readouterr()
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as wrong:  # of the command line
            code = wrong.code if isinstance(wrong.code, int) else 1
        said = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return run


@pytest.fixture(scope="session")
def trained(files: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Done]:
    """A run folder that the command line made, and what it said; nothing is written there."""
    folder = tmp_path_factory.mktemp("trained")
    done = run_command(
        "train",
        files / "model.toml",
        files / "train.csv",
        files / "test.csv",
        "--epochs",
        "8",
        "--set",
        "batch_size=20",
        cwd=folder,
    )
    assert done.returncode == 0, done.stderr
    return folder / "runs" / "model-1", done
