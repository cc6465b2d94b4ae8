"""typednn resume: a run that was stopped goes on, and ends with the bits it would have had."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Command = Callable[..., Any]
REPOSITORY = Path(__file__).resolve().parents[2]
EPOCHS = 300


def _refused(done: Any, *parts: str) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


def _training(files: Path, run: str, *more: str) -> list[str]:
    names = [str(files / name) for name in ("model.toml", "train.csv", "test.csv")]
    settings = [f"epochs={EPOCHS}", "batch_size=20", "checkpoint_every=500", "evaluate_every=1000", "validation=0.1"]
    return ["train", *names, "--run", run, *(word for one in settings for word in ("--set", one)), *more]


def _weights(run: Path) -> bytes:
    return max((run / "checkpoints").glob("step-*")).joinpath("weights.safetensors").read_bytes()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_and_resumed(typednn: Command, files: Path, tmp_path: Path, number: signal.Signals) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-W", "error", "-m", "typednn", *_training(files, "stopped")]
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("epoch ") and int(line.split("/")[0].removeprefix("epoch ")) >= 20:
                break
        process.send_signal(number)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], errors
    assert "Traceback" not in errors
    assert "typednn resume stopped" in errors
    assert not (tmp_path / "stopped" / "report.json").exists()
    resumed = typednn("resume", "stopped")
    assert resumed.returncode == 0, resumed.stderr
    whole = typednn(*_training(files, "whole"))
    assert _weights(tmp_path / "stopped") == _weights(tmp_path / "whole")
    assert resumed.stdout.rpartition("accuracy")[0] == whole.stdout.rpartition("accuracy")[0]


def test_a_time_limit_saves_and_says_so(typednn: Command, files: Path, tmp_path: Path) -> None:
    done = typednn(*_training(files, "run", "--time-limit", "0.2"))
    assert done.returncode == 0, done.stderr
    assert "ended early: time limit" in done.stderr
    assert "typednn resume run" in done.stderr
    assert typednn("resume", "run", "-q").returncode == 0


def test_locked(typednn: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    run = shutil.copytree(trained[0], tmp_path / "run")
    with (run / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        lock.write("12345\n")
        lock.flush()
        begin = time.perf_counter()
        _refused(typednn("resume", "run"), "one process at a time trains in a run folder", "process 12345")
        assert time.perf_counter() - begin < 30
        assert typednn("eval", "run").returncode == 0, "looking needs no lock"


def test_data_that_changed(typednn: Command, files: Path, tmp_path: Path) -> None:
    mine = shutil.copytree(files, tmp_path / "mine")
    done = typednn("train", "mine/model.toml", "mine/train.csv", "mine/test.csv", "--epochs", "1", "--run", "run", "-q")
    assert done.returncode == 0, done.stderr
    test = (mine / "test.csv").read_text(encoding="utf-8")
    labels = [f"{(int(line[0]) + 1) % 3}{line[1:]}" for line in test.splitlines()]
    (mine / "test.csv").write_text("\n".join(labels) + "\n", encoding="utf-8")
    for command in ("eval", "resume"):
        _refused(typednn(command, "run"), "must be what the run began with, got other test data")
    (mine / "test.csv").write_text(test, encoding="utf-8")
    (mine / "train.csv").write_text((mine / "test.csv").read_text(encoding="utf-8"), encoding="utf-8")
    _refused(typednn("resume", "run"), "must be what the run began with, got other training data")
    (mine / "train.csv").unlink()
    _refused(typednn("resume", "run"), "train.csv: must be a readable file")


def test_killed_before_the_first_checkpoint(typednn: Command, trained: tuple[Path, Any], tmp_path: Path) -> None:
    """A run that has only its recipe starts over, and gives the same."""
    run = shutil.copytree(trained[0], tmp_path / "run")
    expected = _weights(run)
    shutil.rmtree(run / "checkpoints")
    (run / "report.json").unlink()
    (run / "config.toml").unlink()
    done = typednn("resume", "run")
    assert done.returncode == 0, done.stderr
    assert _weights(run) == expected
    assert (run / "config.toml").read_bytes() == (trained[0] / "config.toml").read_bytes()
    assert json.loads((run / "report.json").read_text(encoding="utf-8"))["accuracy"] > 0.9
