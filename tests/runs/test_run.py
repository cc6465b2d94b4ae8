"""Runs: one folder, one writer, and training that goes on to the same bits."""

import contextlib
import errno
import fcntl
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.damage import WRONG, places, put, rewritten
from typednn import Input, engines
from typednn.arrays import Array2
from typednn.data import Loader
from typednn.errors import ArgumentError, CheckpointError, DataError, StateError, TypednnError
from typednn.layer import Chain, Sequential
from typednn.layers import Linear, ReLU, Tanh
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import SGD, Adam
from typednn.random import PCG32
from typednn.runs import Run, RunLocked, RunWarning
from typednn.runs.environment import differences, environment
from typednn.training import Callback, EarlyStopping, Evaluation, History, Step, fit

REPOSITORY = Path(__file__).resolve().parents[2]
Model = Chain[Array2, Array2, str, *tuple[Any, ...]]
X: Array2 = np.random.default_rng(0).standard_normal((50, 4), dtype=np.float32)
Y = (X[:, 0] > X[:, 1]).astype(np.int64)


def _model(hidden: int = 8, between: Any = None) -> Model:
    return (Input(4) >> Linear(4, hidden) >> (between or ReLU()) >> Linear(hidden, 2)).init(PCG32(0))


def _fit(
    run: Run,
    *,
    epochs: int = 3,
    rng: Any = None,
    batch_size: int = 8,
    model: Model | None = None,
    optimizer: Any = None,
    **changes: Any,
) -> History:
    """In new objects, as a new process would."""
    loader = Loader(X, Y, batch_size=batch_size, rng=rng or PCG32(1))
    options: dict[str, Any] = {"validation": Evaluation(X, Y), "progress": False}
    return fit(
        model or _model(),
        SoftmaxCrossEntropy(),
        optimizer or Adam(0.02),
        loader,
        epochs=epochs,
        run=run,
        **(options | changes),
    )


def _trained(folder: Path, **changes: Any) -> Path:
    with Run.create(folder, "seed = 0\n", _model()) as run:
        _fit(run, **changes)
    return folder


def _names(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "checkpoints").iterdir())


def _final(folder: Path) -> tuple[bytes, bytes, list[dict[str, Any]]]:
    newest = sorted((folder / "checkpoints").glob("step-*"))[-1]
    lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    kept = [
        {key: value for key, value in line.items() if key not in ("seconds", "samples_per_second")} for line in lines
    ]
    return (newest / "weights.safetensors").read_bytes(), (newest / "optimizer.safetensors").read_bytes(), kept


class Break(Callback):
    """As if the process ended after a step."""

    def __init__(self, step: int) -> None:
        self.step = step

    def on_step(self, step: Step) -> None:
        if step.step == self.step:
            raise LookupError


# --- the folder ----------------------------------------------------------------------------------------------------


def test_the_folder(tmp_path: Path) -> None:
    run = _trained(tmp_path / "deep" / "run")
    names = {path.name for path in run.iterdir()}
    assert names - {"events"} == {
        "config.toml",
        "environment.json",
        "model.txt",
        "metrics.jsonl",
        "checkpoints",
        "lock",
        "starts.jsonl",
        "checksums.json",
    }
    assert (run / "config.toml").read_text() == "seed = 0\n"
    assert (run / "model.txt").read_text() == f"{_model()}\n"
    assert json.loads((run / "environment.json").read_text()) == environment()
    assert _names(run) == ["best.json", "step-00000007", "step-00000014", "step-00000021"]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert [line["kind"] for line in lines] == (["step"] * 7 + ["evaluation"]) * 3
    assert set(lines[0]) == {"kind", "step", "epoch", "loss", "lr", "samples_per_second", "seconds", "gradient_norms"}
    assert set(lines[1]) == set(lines[0]) - {"gradient_norms"}
    assert set(lines[7]) == {"kind", "step", "epoch", "split", "loss", "accuracy"}


def test_the_best_is_not_another_one(tmp_path: Path) -> None:
    """Where its folder is gone the newest is not taken for it."""
    run = _trained(tmp_path / "run", epochs=12, keep=1)
    with Run.open(run) as opened:
        newest, best = opened.checkpoint("latest"), opened.checkpoint("best")
        assert best.folder != newest.folder
        shutil.rmtree(best.folder)
        with pytest.raises(
            CheckpointError, match=rf"must hold the best checkpoint, {best.folder.name}, got none .*--weights latest"
        ):
            opened.checkpoint("best")
        assert opened.checkpoint("latest").folder == newest.folder


def test_best_is_kept_and_named(tmp_path: Path) -> None:
    run = _trained(tmp_path / "run", epochs=12, keep=1)
    best = json.loads((run / "checkpoints" / "best.json").read_text())
    with Run.open(run) as opened:
        newest, chosen = opened.checkpoint("latest"), opened.checkpoint("best")
        assert newest.state.best is not None
        assert chosen.state.step == newest.state.best.step
        assert best == {"name": chosen.folder.name, "metric": "accuracy", "value": newest.state.best.value}
        assert set(_names(run)) == {"best.json", chosen.folder.name, newest.folder.name}
        model = _model()
        opened.load_weights(model, "best")
        scores = model.forward(X)
        assert (scores.argmax(axis=1) == Y).mean() == newest.state.best.value


def test_a_run_is_made_once(tmp_path: Path) -> None:
    run = _trained(tmp_path / "run", epochs=1)
    with pytest.raises(
        StateError, match="a new run needs a folder without one, got a run; resume it, or choose another folder"
    ):
        Run.create(run, "")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    with pytest.raises(StateError, match=r"a new run needs an empty folder, got thesis\.tex"):
        Run.create(tmp_path / "full", "")
    with pytest.raises(ArgumentError, match=r"config must be one of config\.toml, recipe\.json"):
        Run.create(tmp_path / "new", "", config="../../config.toml")
    with Run.create(tmp_path / "recipe", "{}", config="recipe.json") as made:
        assert (made.folder / "recipe.json").read_text() == "{}"


def test_a_run_is_overwritten_on_request(tmp_path: Path) -> None:
    """A notebook's cell that is run again: the new run has nothing of the first."""
    folder = _trained(tmp_path / "run", epochs=2)
    for name in ("plots", "vocabulary"):
        (folder / name).mkdir()
        (folder / name / "a").write_text("")
    for name in (
        "report.html",
        "report.json",
        "pictures.safetensors",
        "recipe.json",
        "starts.jsonl",
        ".new-report.html",
    ):
        (folder / name).write_text("{}")
    with Run.create(folder, "seed = 1\n", _model(), overwrite=True) as run:
        assert sorted(path.name for path in folder.iterdir()) == [
            "config.toml",
            "environment.json",
            "lock",
            "model.txt",
        ]
        assert (folder / "config.toml").read_text() == "seed = 1\n"
        assert run.latest() is None
        assert _fit(run).steps == 21
    with Run.create(tmp_path / "new", "a = 1\n", overwrite=True) as run:
        assert run.folder.is_dir()


def test_a_run_that_this_process_left_open_is_overwritten(tmp_path: Path) -> None:
    first = Run.create(tmp_path / "run", "a = 1\n", _model())
    _fit(first)
    with pytest.raises(StateError, match="needs a folder without one"):
        Run.create(tmp_path / "run", "a = 2\n")
    (tmp_path / "elsewhere").mkdir()
    with Run.create(tmp_path / "elsewhere" / ".." / "run", "a = 2\n", _model(), overwrite=True) as second:
        _fit(second)
        with pytest.raises(StateError, match="training needs the run's lock"):
            _fit(first)
    again = Run.open(tmp_path / "run")  # opened, and left so
    with (
        Run.create(tmp_path / "run", "a = 3\n", overwrite=True),
        pytest.raises(StateError, match="training needs the run's lock"),
    ):
        again.require_lock()


KILLED_AT_A_CALL = """
import os, signal, sys
from typednn.runs import Run

left = [int(sys.argv[2])]
def counted(real):
    def call(*arguments, **named):
        left[0] -= 1
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)
    return call
for name in ("rename", "unlink", "rmdir", "mkdir", "replace"):
    setattr(os, name, counted(getattr(os, name)))
Run.create(sys.argv[1], "seed = 2\\n", overwrite=True).close()
"""


def test_overwriting_that_is_killed_leaves_a_whole_run_or_none(tmp_path: Path) -> None:
    """At every call that renames or removes; the next one goes on with it."""
    whole = _trained(tmp_path / "whole", epochs=1)
    expected = sorted(path.relative_to(whole) for path in whole.rglob("*"))
    for number in range(1, 100):
        folder = tmp_path / f"run{number}"
        shutil.copytree(whole, folder)
        ended = subprocess.run(
            [sys.executable, "-c", KILLED_AT_A_CALL, str(folder), str(number)], check=False
        ).returncode
        if ended == 0:
            break
        if (folder / "config.toml").exists() and (folder / "config.toml").read_text() != "seed = 2\n":
            left = {path.relative_to(folder) for path in folder.rglob("*")}
            assert left - {Path(".new-overwritten")} == set(expected), f"call {number}"
        with Run.create(folder, "seed = 3\n", overwrite=True) as run:
            assert run.latest() is None
            assert sorted(path.name for path in folder.iterdir()) == ["config.toml", "environment.json", "lock"]
    assert number > 5


def test_overwriting_removes_nothing_that_is_no_run(tmp_path: Path) -> None:
    folder = _trained(tmp_path / "run", epochs=1)
    (folder / "thesis.tex").write_text("")
    kept = sorted(folder.rglob("*"))
    with pytest.raises(
        StateError, match=r"overwrite=True removes a run and nothing else, got a run, and thesis\.tex; move that away"
    ):
        Run.create(folder, "", overwrite=True)
    assert sorted(folder.rglob("*")) == kept
    (folder / "thesis.tex").unlink()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "photo.png").write_text("")
    (folder / "plots").symlink_to(outside)
    Run.create(folder, "", overwrite=True).close()
    assert (outside / "photo.png").exists()
    (tmp_path / "data" / "events").mkdir(parents=True)
    with pytest.raises(StateError, match="a new run needs an empty folder, got events"):
        Run.create(tmp_path / "data", "", overwrite=True)
    with pytest.raises(ArgumentError, match="overwrite must be True or False, got 'yes'"):
        Run.create(tmp_path / "new", "", overwrite="yes")  # type: ignore[arg-type]


def test_a_run_in_which_another_process_trains_is_not_overwritten(tmp_path: Path) -> None:
    folder = _trained(tmp_path / "run", epochs=1)
    program = (
        f"import time\nfrom typednn.runs import Run\nwith Run.open({str(folder)!r}):\n    print('open', "
        "flush=True)\n    time.sleep(60)"
    )
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen([sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "open\n"
        kept = sorted(folder.rglob("*"))
        with pytest.raises(RunLocked, match=f"a lock held by process {other.pid}"):
            Run.create(folder, "", overwrite=True)
        assert sorted(folder.rglob("*")) == kept
        other.kill()


def test_a_creation_that_was_cut_short_is_done_again(tmp_path: Path) -> None:
    for name in ("lock", "environment.json", ".new-model.txt", "model.txt"):
        (tmp_path / name).write_text("half")
    with Run.create(tmp_path, "a = 1\n", _model()) as run:
        assert (run.folder / "config.toml").read_text() == "a = 1\n"
    with Run.open(tmp_path):
        assert not list(tmp_path.glob(".*"))


def test_what_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"a run folder holds config\.toml or recipe\.json, got none"):
        Run.open(tmp_path)
    with pytest.raises(CheckpointError, match="got no such folder"):
        Run.open(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match="must be written"):
        Run.create(tmp_path / "file" / "run", "")


def test_a_run_without_checkpoints_has_no_weights(tmp_path: Path) -> None:
    with (
        Run.create(tmp_path / "run", "") as run,
        pytest.raises(CheckpointError, match="must hold a checkpoint, got none; train first"),
    ):
        run.load_weights(_model())


def test_no_path_leaves_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("")
    (tmp_path / "run" / "checkpoints").symlink_to(outside)
    with pytest.raises(
        CheckpointError, match="everything lies within the run folder, got 'checkpoints', which leads out of it"
    ):
        Run.open(tmp_path / "run")
    (tmp_path / "run" / "checkpoints").unlink()
    (tmp_path / "run" / "metrics.jsonl").symlink_to(outside / "metrics.jsonl")
    with Run.open(tmp_path / "run") as run:
        with pytest.raises(CheckpointError, match="leads out of it"):
            _fit(run)
        with pytest.raises(CheckpointError, match="leads out of it"):
            run.path("../outside")
    (tmp_path / "run" / "lock").unlink()
    (tmp_path / "run" / "lock").symlink_to(outside / "lock")
    with pytest.raises(CheckpointError, match="leads out of it"):
        Run.open(tmp_path / "run")
    assert list(outside.iterdir()) == []


# --- one writer ----------------------------------------------------------------------------------------------------


def test_a_second_writer_is_refused(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", "") as run:
        message = (
            rf"one process at a time trains in a run folder, got a lock held by process {os.getpid()}; wait for it "
            r"to end, or end it"
        )
        with pytest.raises(RunLocked, match=message):
            Run.open(run.folder)
        script = "import sys; from typednn.runs import Run; Run.open(sys.argv[1])"
        done = subprocess.run(
            [sys.executable, "-c", script, run.folder], cwd=REPOSITORY, capture_output=True, text=True, check=False
        )
        assert "RunLocked" in done.stderr
        with (
            Run.open(run.folder, lock=False) as looking,
            pytest.raises(StateError, match="training needs the run's lock"),
        ):
            _fit(looking)
    with Run.open(tmp_path / "run"):
        pass
    with pytest.raises(StateError, match="training needs the run's lock"):
        _fit(run)


def test_a_removed_lock_file_lets_no_second_writer_in(tmp_path: Path) -> None:
    """The folder itself is locked as well."""
    with Run.create(tmp_path / "run", "") as run:
        (tmp_path / "run" / "lock").unlink()
        with pytest.raises(RunLocked, match="got a lock held by another process; wait for it to end"):
            Run.open(run.folder)
        _fit(run, epochs=1)
    with Run.open(tmp_path / "run"):
        pass


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS])
def test_a_file_system_without_locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    """Training goes on, and the user is told what nothing guards."""

    def flock(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", flock)
    told = pytest.warns(
        RunWarning,
        match=rf"run: this file system has no locks \({os.strerror(code)}\): see to it that no other process",
    )
    with told, Run.create(tmp_path / "run", "") as run:
        _fit(run, epochs=1)
    assert _names(tmp_path / "run")[-1] == "step-00000007"


def test_where_only_files_can_be_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on NFS: a lock file that was removed, or is another, is noticed before a checkpoint is written."""
    real = fcntl.flock

    def flock(handle: int, operation: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))
        real(handle, operation)

    class Remove(Callback):
        def on_step(self, step: Step) -> None:
            if step.step == 10:
                (tmp_path / "run" / "lock").unlink()
                if others:
                    others.append(Run.open(tmp_path / "run"))

    monkeypatch.setattr(fcntl, "flock", flock)
    others: list[Any] = []
    with Run.create(tmp_path / "run", "") as run:
        with pytest.raises(RunLocked, match="a lock held by"):
            Run.open(run.folder)
        with pytest.raises(CheckpointError, match="it was removed: another process may train here"):
            _fit(run, callbacks=[Remove()])
    others.append(None)
    with (
        Run.open(tmp_path / "run") as run,
        pytest.raises(RunLocked, match="lock: must be the file that this process locked, got another"),
    ):
        _fit(run, callbacks=[Remove()])
    others[1].close()
    assert _names(tmp_path / "run") == ["best.json", "step-00000007"]


def test_a_lock_of_a_process_that_is_gone_is_none(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", ""):
        pass
    (tmp_path / "run" / "lock").write_text("1\n")
    with Run.open(tmp_path / "run"):
        assert (tmp_path / "run" / "lock").read_text() == f"{os.getpid()}\n"


# --- going on ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("generator", [PCG32, np.random.default_rng], ids=["PCG32", "NumPy"])
@pytest.mark.parametrize("step", [3, 5, 7, 8, 20])
def test_going_on_gives_the_same_bits(tmp_path: Path, step: int, generator: Any) -> None:
    options: dict[str, Any] = {"checkpoint_every": 2, "evaluate_every": 3, "epochs": 4, "clip_grad_norm": 0.5}
    alone = _trained(tmp_path / "alone", rng=generator(1), **options)
    with Run.create(tmp_path / "run", "") as run, pytest.raises(LookupError):
        _fit(run, rng=generator(1), callbacks=[Break(step)], **options)
    with Run.open(tmp_path / "run") as run:
        history = _fit(run, rng=generator(99), **options)
    assert _final(tmp_path / "run") == _final(alone)
    assert _names(tmp_path / "run") == _names(alone)
    assert history.steps == 28
    with Run.open(alone, lock=False) as looking:
        assert history.losses == [epoch.loss for epoch in looking.checkpoint().state.epochs]
    assert [epoch.number for epoch in history.epochs] == [1, 2, 3, 4]


def test_generators_of_layers_go_on_too(tmp_path: Path) -> None:
    class Noisy(Linear[str]):
        """Draws in forward."""

    def made() -> Any:
        model = _model()
        vars(model.parts[0])["noise"] = PCG32(9)
        return model

    class Draws(Callback):
        def __init__(self, model: Any) -> None:
            self.noise = vars(model.parts[0])["noise"]

        def on_step(self, step: Step) -> None:
            self.noise.next_uint32()

    alone, model = made(), made()
    with Run.create(tmp_path / "alone", "") as run:
        _fit(run, model=alone, callbacks=[Draws(alone)])
    with Run.create(tmp_path / "run", "") as run, pytest.raises(LookupError):
        _fit(run, model=model, callbacks=[Draws(model), Break(10)])
    model = made()
    with Run.open(tmp_path / "run") as run:
        _fit(run, model=model, callbacks=[Draws(model)])
    assert vars(model.parts[0])["noise"] == vars(alone.parts[0])["noise"]
    with Run.open(tmp_path / "run") as run, pytest.raises(CheckpointError, match="the model's generators are"):
        _fit(run)


def test_how_a_chain_is_computed_is_not_what_it_is(tmp_path: Path) -> None:
    """With plans and without, and as another class of the same parts: the same checkpoints, and the same bits."""
    alone = _trained(tmp_path / "alone")
    with Run.create(tmp_path / "run", "") as run, pytest.raises(LookupError):
        _fit(run, callbacks=[Break(10)])
    with Run.open(tmp_path / "run") as run:
        _fit(run, compile=False)
    assert _final(tmp_path / "run") == _final(alone)
    with Run.open(alone) as run:
        _fit(run, epochs=4)
        assert Run.open(alone, lock=False).load_weights(Sequential([*_model().parts]), "latest").state.step == 28


def test_a_finished_run_stays_as_it_is(tmp_path: Path) -> None:
    run = _trained(tmp_path / "run")
    before = {path: path.read_bytes() for path in sorted((run / "checkpoints").rglob("*")) if path.is_file()}
    with Run.open(run) as opened:
        history = _fit(opened)
    assert len(history.epochs) == 3
    assert history.best is not None
    assert before == {path: path.read_bytes() for path in sorted((run / "checkpoints").rglob("*")) if path.is_file()}


def test_more_epochs_and_a_time_limit(tmp_path: Path) -> None:
    alone = _trained(tmp_path / "alone", epochs=5)
    with Run.create(tmp_path / "run", "") as run:
        assert _fit(run, epochs=5, time_limit=0).stopped == "time limit"
    assert _names(tmp_path / "run") == ["step-00000000"]
    with Run.open(tmp_path / "run") as run:
        _fit(run, epochs=2)
    with Run.open(tmp_path / "run") as run:
        _fit(run, epochs=5)
    assert _final(tmp_path / "run") == _final(alone)


def test_early_stopping_is_remembered(tmp_path: Path) -> None:
    rule = EarlyStopping(patience=2, min_delta=10.0)
    run = _trained(tmp_path / "run", epochs=20, early_stopping=rule)
    with Run.open(run) as opened:
        history = _fit(opened, epochs=20, early_stopping=rule)
    assert (history.stopped, len(history.epochs)) == ("early stopping", 3)


def test_the_best_weights_are_in_hand(tmp_path: Path) -> None:
    """Also where another process measured them; the last checkpoint keeps the last, with the optimizer that belongs to
    them.
    """
    options: dict[str, Any] = {"epochs": 9, "validation": Evaluation(X, 1 - Y)}
    best, last = _model(), _model()
    with Run.create(tmp_path / "best", "") as run:
        _fit(run, model=best, **(options | {"epochs": 1}))
    with Run.create(tmp_path / "last", "") as run:
        _fit(run, model=last, **(options | {"epochs": 4}))
    with Run.create(tmp_path / "run", "") as run, pytest.raises(LookupError):
        _fit(run, callbacks=[Break(17)], early_stopping=EarlyStopping(3), keep=1, **options)
    for _ in ("resumed", "resumed where nothing is left to do"):
        model = _model()
        with Run.open(tmp_path / "run") as run:
            history = _fit(run, model=model, early_stopping=EarlyStopping(3), keep=1, **options)
        assert (history.steps, history.stopped) == (28, "early stopping")
        assert [array.tobytes() for array in model.parameters()] == [array.tobytes() for array in best.parameters()]
        assert _final(tmp_path / "run")[:2] == _final(tmp_path / "last")[:2]
    with Run.open(tmp_path / "run") as run:
        _fit(run, model=model, early_stopping=EarlyStopping(3, restore_best_weights=False), keep=1, **options)
    assert [array.tobytes() for array in model.parameters()] == [array.tobytes() for array in last.parameters()]


def test_without_a_checkpoint_it_starts_over(tmp_path: Path) -> None:
    alone = _trained(tmp_path / "alone")
    with Run.create(tmp_path / "run", "") as run, pytest.raises(LookupError):
        _fit(run, callbacks=[Break(5)])
    assert len((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()) == 5
    with Run.open(tmp_path / "run") as run:
        _fit(run)
    assert _final(tmp_path / "run") == _final(alone)


def test_metrics_that_were_lost_are_told(tmp_path: Path) -> None:
    run = _trained(tmp_path / "run", epochs=1)
    path = run / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-20])
    with (
        Run.open(run) as opened,
        pytest.warns(RunWarning, match=r"metrics\.jsonl holds \d+ bytes, the checkpoint was written after \d+"),
    ):
        _fit(opened, epochs=2)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [line["step"] for line in lines] == [*range(1, 8), *range(8, 15), 14]


# --- what does not belong, what is damaged -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"model": _model(9)},
            r"is of a model with '0 Linear\(4, 8\) weight \(8, 4\), bias \(8,\) 40', got '0 Linear\(4, 9\)",
        ),
        (
            {"model": _model(between=Tanh())},
            r"is of a model with '1 ReLU\(\)', got '1 Tanh\(\)'; use the config it was trained with",
        ),
        ({"optimizer": SGD(0.1)}, "is of a training with Adam, got SGD"),
        ({"batch_size": 9}, "of another training: Loader.load_state_dict: batch_size must be 9, got 8"),
        (
            {"rng": np.random.default_rng(0)},
            "of another training: .*this generator is a PCG64, got the state of a PCG32",
        ),
    ],
    ids=["sizes", "layers", "optimizer", "batches", "generator"],
)
def test_a_checkpoint_of_something_else(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    run = _trained(tmp_path / "run", epochs=1)
    model = changes.get("model") or _model()
    before = [weights.tobytes() for weights in model.parameters()]
    with Run.open(run) as opened, pytest.raises(CheckpointError, match=message):
        _fit(opened, **({"model": model} | changes))
    assert [weights.tobytes() for weights in model.parameters()] == before
    assert _names(run) == ["best.json", "step-00000007"]


@pytest.mark.parametrize("kind", ["Chain", "Sequential", "Stack", "Fused"])
def test_a_checkpoint_of_version_1_holds_the_model_as_it_printed(tmp_path: Path, kind: str) -> None:
    """It is compared with that, whatever class of chain it was."""
    run = _trained(tmp_path / "run", epochs=1)
    rewritten(
        run / "checkpoints" / "step-00000007",
        lambda table: table.update(version=1, model=str(_model()).replace("Chain", kind)),
    )
    with Run.open(run) as opened:
        with pytest.raises(CheckpointError, match=r"is of a model with '1 ReLU\(\)', got '1 Tanh\(\)'"):
            opened.load_weights(_model(between=Tanh()))
        _fit(opened, epochs=2)


def test_weights_of_another_shape_under_the_same_print(tmp_path: Path) -> None:
    run = _trained(tmp_path / "run", epochs=1)
    with Run.open(run) as opened:
        found = opened.checkpoint()
        found.weights["0.weight"] = found.weights["0.weight"][:3]
        from typednn.runs.restoring import load_weights

        with pytest.raises(
            CheckpointError, match=r"of another model: .*'0.weight' has shape \(3, 4\), the model \(8, 4\)"
        ):
            load_weights(found, _model())


def test_a_damaged_checkpoint_gives_way_to_the_one_before(tmp_path: Path) -> None:
    alone, run = _trained(tmp_path / "alone"), _trained(tmp_path / "run")
    path = run / "checkpoints" / "step-00000021" / "weights.safetensors"
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with (
        Run.open(run, lock=False) as looking,
        pytest.warns(RunWarning, match="going on from step-00000014 instead of step-00000021"),
    ):
        assert looking.checkpoint().state.step == 14
    assert path.exists()
    with (
        Run.open(run) as opened,
        pytest.warns(RunWarning, match=r"SHA-256 must be .*going on from step-00000014 instead of step-00000021"),
    ):
        _fit(opened)
    assert _final(run) == _final(alone)
    assert (run / "checkpoints" / "damaged-step-00000021" / "weights.safetensors").read_bytes() == content


def _swapped(run: Path) -> None:
    first, second, aside = (run / "checkpoints" / name for name in ("step-00000014", "step-00000021", "aside"))
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def _copied(run: Path) -> None:
    for name in ("step-00000014", "step-00000021"):
        shutil.rmtree(run / "checkpoints" / name)
        shutil.copytree(run / "checkpoints" / "step-00000007", run / "checkpoints" / name)


@pytest.mark.parametrize("confuse", [_swapped, _copied])
def test_checkpoints_under_each_others_names(tmp_path: Path, confuse: Callable[[Path], None]) -> None:
    """Both are told and put aside; training goes on from the newest that is what its name says."""
    alone, run = _trained(tmp_path / "alone"), _trained(tmp_path / "run")
    confuse(run)
    with Run.open(run) as opened, pytest.warns(RunWarning) as told:
        _fit(opened)
    for name, step in (("step-00000021", 21), ("step-00000014", 14)):
        message = (
            f"must hold the checkpoint of step {step}, got that of step .*; going on from step-00000007 instead of "
            f"{name}$"
        )
        assert [bool(re.search(message, str(one.message))) for one in told].count(True) == 1
    assert _final(run) == _final(alone)
    assert {"damaged-step-00000014", "damaged-step-00000021"} < set(_names(run))


def test_a_checkpoint_of_another_run(tmp_path: Path) -> None:
    """It was trained by another config: told, put aside, and the run's own newest is taken."""
    alone, run = _trained(tmp_path / "alone"), _trained(tmp_path / "run", epochs=2)
    with Run.create(tmp_path / "other", "seed = 1\n") as other:
        _fit(other, rng=PCG32(7))
    shutil.copytree(tmp_path / "other" / "checkpoints" / "step-00000021", run / "checkpoints" / "step-00000021")
    told = pytest.warns(
        RunWarning,
        match=r"step-00000021 was trained by a config\.toml of SHA-256 .*, got another.*from step-00000014 instead",
    )
    with Run.open(run) as opened, told:
        _fit(opened)
    assert _final(run) == _final(alone)


@pytest.mark.parametrize(
    "damage", [lambda path: path.write_text("seed = 9\n"), lambda path: path.rename(path.with_name("recipe.json"))]
)
def test_a_changed_config_is_refused(tmp_path: Path, damage: Callable[[Path], Any]) -> None:
    run = _trained(tmp_path / "run")
    before = _names(run)
    damage(run / "config.toml")
    message = (
        r"config\.toml: step-00000021 was trained by a config\.toml of SHA-256 .*bring that file back, or start a "
        r"new run"
    )
    with Run.open(run) as opened, pytest.raises(CheckpointError, match=message):
        _fit(opened)
    with pytest.raises(CheckpointError, match=message):
        Run.open(run, lock=False).load_weights(_model())
    assert _names(run) == before


def test_a_config_that_is_no_file(tmp_path: Path) -> None:
    """Opening a pipe would wait for ever."""
    run = _trained(tmp_path / "run")
    (run / "config.toml").unlink()
    os.mkfifo(run / "config.toml")
    with pytest.raises(CheckpointError, match="a run folder holds"):
        Run.open(run)
    (run / "recipe.json").write_text("{}")
    with Run.open(run) as opened, pytest.raises(DataError, match=r"config\.toml: must be a file, got something else"):
        _fit(opened)


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_best_that_could_not_be_written_is_made_up_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    """The last checkpoint is whole, and the run is through: resuming it still writes `best.json` and lets older ones
    make room.
    """
    alone, real = _trained(tmp_path / "alone", keep=1), getattr(os, call)
    run = tmp_path / "run"

    def fails(*arguments: Any) -> Any:
        written = call == "rename" or any((run / "checkpoints").glob(".new-best.json-*"))
        if written and (run / "checkpoints" / "step-00000021").is_dir():
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments)

    with Run.create(run, "seed = 0\n", _model()) as opened, monkeypatch.context() as broken:
        broken.setattr(os, call, fails)
        with pytest.raises(
            CheckpointError,
            match=r"best\.json: must be written, got No space left.*the checkpoints are whole: resuming writes it",
        ):
            _fit(opened, keep=1)
    assert _names(run) != _names(alone)
    with Run.open(run) as opened:
        _fit(opened, keep=1)
    assert _names(run) == _names(alone)
    assert (run / "checkpoints" / "best.json").read_bytes() == (alone / "checkpoints" / "best.json").read_bytes()


@pytest.fixture(scope="module")
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with one checkpoint, in the middle of an epoch; nothing is written there."""
    run = tmp_path_factory.mktemp("short") / "run"
    with Run.create(run, "") as opened, pytest.raises(LookupError):
        _fit(opened, keep=1, checkpoint_every=5, callbacks=[Break(12)])
    return run


@given(data=st.data())
def test_any_value_in_the_state(tmp_path_factory: pytest.TempPathFactory, short: Path, data: st.DataObject) -> None:
    """With a right checksum, in the place of any other: training goes on, or it is refused in our words."""
    run = tmp_path_factory.mktemp("values") / "run"
    shutil.copytree(short, run)
    newest = max((run / "checkpoints").glob("step-*"))
    found = [place for place in places(json.loads((newest / "state.json").read_text())) if place != ("checksum",)]
    place, value = data.draw(st.sampled_from(found)), data.draw(st.sampled_from(WRONG))
    rewritten(newest, lambda table: put(table, place, value))
    with warnings.catch_warnings(), Run.open(run) as opened, contextlib.suppress(TypednnError):
        warnings.simplefilter("ignore", RunWarning)
        _fit(opened, epochs=2)


@pytest.mark.parametrize(
    "name", ["lock", "metrics.jsonl", "checkpoints", "checkpoints/best.json", "checkpoints/step-00000010/state.json"]
)
@pytest.mark.parametrize(
    "make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")], ids=["pipe", "folder", "device"]
)
def test_what_is_no_file(tmp_path: Path, short: Path, name: str, make: Callable[[Path], None]) -> None:
    """It is replaced, passed by or refused; nothing waits for a pipe, or reads a device to its end."""
    run = shutil.copytree(short, tmp_path / "run")
    path = run / name
    path.unlink() if path.is_file() else shutil.rmtree(path)
    make(path)
    refused = {
        "checkpoints": not path.is_dir(),
        "checkpoints/best.json": path.is_dir(),
        "lock": True,
        "metrics.jsonl": True,
    }
    told = pytest.raises((CheckpointError, DataError)) if refused.get(name) else contextlib.nullcontext()
    with told, warnings.catch_warnings(), Run.open(run) as opened:
        warnings.filterwarnings(
            "ignore", ".*must be a plain file of its own, got a .* going on from step-00000007", RunWarning
        )
        _fit(opened, epochs=2)
    assert refused.get(name) or json.loads((run / "checkpoints" / "best.json").read_text())


def test_when_all_are_damaged_it_does_not_start_over(tmp_path: Path) -> None:
    run = _trained(tmp_path / "run")
    for path in (run / "checkpoints").glob("step-*/weights.safetensors"):
        path.unlink()
    before = (run / "metrics.jsonl").read_bytes()
    with (
        Run.open(run) as opened,
        pytest.raises(CheckpointError, match=r"step-00000021/weights\.safetensors: must be there"),
    ):
        _fit(opened)
    assert (run / "metrics.jsonl").read_bytes() == before
    assert len(_names(run)) == 4


def test_a_newer_checkpoint_is_refused_not_passed_over(tmp_path: Path) -> None:
    run = _trained(tmp_path / "run")
    path = run / "checkpoints" / "step-00000021" / "state.json"
    path.write_text(path.read_text().replace('"version": 2,', '"version": 7,'))
    with Run.open(run) as opened, pytest.raises(CheckpointError, match="got version 7; update typednn"):
        _fit(opened)
    assert len(_names(run)) == 4


@pytest.mark.parametrize("call", ["write", "fsync", "rename"])
def test_a_full_disk_while_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    alone = _trained(tmp_path / "alone")

    class Full(Callback):
        def on_step(self, step: Step) -> None:
            if step.step == 17:
                broken.setattr(os, call, fails)

    def fails(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    told = pytest.raises((CheckpointError, DataError), match=r"No space left on device.*make room")
    with Run.create(tmp_path / "run", "") as run, monkeypatch.context() as broken, told:
        _fit(run, callbacks=[Full()])
    assert _names(tmp_path / "run")[-1] == "step-00000014"
    with Run.open(tmp_path / "run") as run:
        _fit(run)
    assert _final(tmp_path / "run") == _final(alone)


def test_another_environment_is_told(tmp_path: Path) -> None:
    run = _trained(tmp_path / "run", epochs=1)
    with Run.open(run) as opened:
        opened.environment = {**opened.environment, "numpy": "9.9"}
        with pytest.warns(
            RunWarning, match=rf"the bits may differ from an uninterrupted run's: numpy was {np.__version__}, is 9\.9$"
        ):
            _fit(opened, epochs=2)


COMPILED = "Halide 21; OpenBLAS multiplies, with Haswell kernels (OpenBLAS chooses); NumPy with scipy-openblas 0.3"
REFERENCE = "reference kernels; NumPy with scipy-openblas 0.3"
PRODUCTS = "the number of threads of NumPy's products"


def _threads(**threads: Any) -> dict[str, Any]:
    return {
        "cores": 4,
        "kernels": 4,
        "OMP_NUM_THREADS": "",
        "OPENBLAS_NUM_THREADS": "",
        "MKL_NUM_THREADS": "",
    } | threads


@pytest.mark.parametrize(
    ("engine", "dtype", "now", "told"),
    [
        (COMPILED, "float32", {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}, []),
        (COMPILED, "float32", {"cores": 64}, []),
        (COMPILED, "float32", {"kernels": 2}, ["the kernels' number of threads was 4, is 2"]),
        (COMPILED, "float64", {"OMP_NUM_THREADS": "1"}, []),
        (COMPILED, "float16", {"OMP_NUM_THREADS": "1"}, [f"{PRODUCTS} was 4, is 1"]),
        (REFERENCE, "float32", {"kernels": 2}, []),
        (REFERENCE, "float32", {"OMP_NUM_THREADS": "4", "MKL_NUM_THREADS": "1"}, []),
        (REFERENCE, "float32", {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "4"}, []),
        (
            "reference kernels; NumPy with scipy-openblas 0.3",
            "float32",
            {"cores": 2},
            [f"{PRODUCTS} was 4, is 2"],
        ),
        (
            "reference kernels; NumPy with mkl 2025",
            "float32",
            {"MKL_NUM_THREADS": "1"},
            [f"{PRODUCTS} was 4, is 1"],
        ),
        ("Halide 21; NumPy multiplies: x", "float32", {"OMP_NUM_THREADS": "2"}, [f"{PRODUCTS} was 4, is 2"]),
    ],
)
def test_threads_are_told_only_where_they_decide(engine: str, dtype: str, now: dict[str, Any], told: list[str]) -> None:
    before = {"engine": engine, "threads": _threads()}
    assert differences(before, {"engine": engine, "threads": _threads(**now)}, dtype) == told


def test_differences() -> None:
    assert differences(environment(), environment()) == []
    before = {"a": 1, "python": "3.11.2", "engine": COMPILED}
    now = {"a": 2, "python": "3.11.9", "engine": COMPILED.replace("OpenBLAS chooses", "asked for"), "b": "new"}
    assert differences(before, now) == ["a was 1, is 2", "b was None, is new"]
    assert differences(before, {"a": 1, "python": "3.12.1", "engine": "reference kernels"}) == [
        "python was 3.11, is 3.12",
        "engine was Halide 21; OpenBLAS multiplies, with Haswell kernels; NumPy with scipy-openblas 0.3, is "
        "reference kernels",
    ]
    assert differences({}, {"threads": 3}) == ["threads was None, is 3"]
    assert differences({"threads": {"cores": "x", "OMP_NUM_THREADS": []}}, {"threads": {}}) == []
    assert set(environment()) == {"python", "numpy", "typednn", "system", "processor", "threads", "engine"}


def test_the_engine_is_noted() -> None:
    """What computes decides the bits: the kernels, or the reference where it was asked for."""
    with engines.using("reference"):
        reference = environment()["engine"]
    assert reference.startswith("reference kernels; NumPy with ")
    if engines.fast():
        assert environment()["engine"].startswith("Halide ")
    assert environment()["threads"]["kernels"] == engines.get_threads()


def test_without_tensorboardx_it_is_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorboardX"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with Run.create(tmp_path / "run", "") as run:
        _fit(run, progress="auto")
    said = capsys.readouterr().err
    assert said.count("no TensorBoard events") == 1
    assert "typednn[tensorboard]" in said


def test_an_optimizer_that_cannot_be_saved(tmp_path: Path) -> None:
    class Mine:
        def step(self, weights: Any, grad: Any) -> None: ...

    with (
        Run.create(tmp_path / "run", "") as run,
        pytest.raises(StateError, match=r"a run saves the optimizer by its state_dict\(\), got Mine"),
    ):
        _fit(run, optimizer=Mine())


def test_the_best_by_another_metric_begins_anew(tmp_path: Path) -> None:
    """The accuracy of the first call can't be compared with the loss of the second."""
    run = _trained(tmp_path / "run", epochs=2)
    with Run.open(run) as opened:
        best = _fit(opened, epochs=4, early_stopping=EarlyStopping(9, "loss")).best
    assert best is not None
    assert (best.metric, best.step > 14) == ("loss", True)


def test_a_folder_that_cannot_be_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(_: Path) -> Any:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refused)
    with pytest.raises(CheckpointError, match="Permission denied"):
        Run.create(tmp_path / "run", "", _model())
