"""Every file of a run has a checksum, and damage of each is told."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn import Input
from typednn.data import Loader
from typednn.layers import Linear
from typednn.losses import SoftmaxCrossEntropy
from typednn.optim import Adam
from typednn.random import PCG32
from typednn.runs import Run, checksums
from typednn.runs.checksums import OF_A_REPORT, is_run, problems, renew_checksums
from typednn.training import Evaluation, fit

X = np.random.default_rng(0).standard_normal((24, 4), np.float32)
Y = (X[:, 0] > 0).astype(np.int64)


def train(run: Run, epochs: int) -> None:
    model = (Input(4) >> Linear(4, 2)).init(PCG32(0))
    loader = Loader(X, Y, batch_size=8, rng=PCG32(1))
    fit(
        model,
        SoftmaxCrossEntropy(),
        Adam(0.02),
        loader,
        epochs=epochs,
        run=run,
        validation=Evaluation(X, Y),
        progress=False,
    )


@pytest.fixture
def run(tmp_path: Path) -> Path:
    with Run.create(tmp_path / "run", "seed = 0\n") as made:
        train(made, 2)
    (tmp_path / "run" / "report.json").write_text("{}")
    renew_checksums(tmp_path / "run", OF_A_REPORT)
    return tmp_path / "run"


def test_a_run_is_what_was_written(run: Path) -> None:
    """Each file is covered, and its checksum is SHA-256, which Python's hashlib and sha256sum know."""
    count, found = problems(run)
    files = [path for path in run.rglob("*") if path.is_file() and path.name not in ("lock", "checksums.json")]
    assert (count, found) == (len(files), [])
    told = json.loads((run / "checksums.json").read_text())["files"]["config.toml"]
    assert told == {"bytes": 9, "sha256": hashlib.sha256(b"seed = 0\n").hexdigest()}
    assert is_run(run)
    assert not is_run(run / "checkpoints")


def test_each_file(run: Path) -> None:
    """A bit flipped, cut by a byte, or removed: that file is told, and no other."""
    for path in sorted(
        path for path in run.rglob("*") if path.is_file() and path.name not in ("lock", "checksums.json")
    ):
        content, name = path.read_bytes(), path.relative_to(run).as_posix()
        for changed in (content[:-1] + bytes([content[-1] ^ 1]), content[:-1], None):
            if changed is None:
                path.unlink()
            else:
                path.write_bytes(changed)
            _, found = problems(run)
            assert len(found) == 1, (name, found)
            assert name in found[0]
        path.write_bytes(content)
    assert problems(run)[1] == []


def test_what_grows_may_grow_and_nothing_else(run: Path) -> None:
    with (run / "metrics.jsonl").open("a") as file:
        file.write("{}\n")
    with Run.open(run) as again:
        train(again, 2)  # nothing is left to do: that line is cut off again; a process has event files of its own
    assert problems(run)[1] == []
    with (run / "environment.json").open("a") as file:
        file.write(" ")
    (run / "plots").mkdir()
    (run / "plots" / "new.png").write_bytes(b"a")
    said = problems(run)[1]
    assert [line.partition(":")[0] for line in said] == ["environment.json", "plots/new.png"]
    assert said[1].endswith(": has no checksum: it was not there when they were written")


def test_each_checkpoint_reads_what_came_since(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the metrics: all checkpoints of a long run together read them once. A run that was cut back begins anew."""
    read: list[int] = []
    real = checksums._digest

    def digest(folder: Path, name: str, size: int, begun: Any = None) -> str:
        if name == "metrics.jsonl" and begun is not None:
            read.append(size - begun.get(name, (0, None))[0])
        return real(folder, name, size, begun)

    monkeypatch.setattr(checksums, "_digest", digest)
    with Run.create(tmp_path / "run", "seed = 0\n") as made:
        train(made, 6)
        size = made.metrics_bytes
        assert len(read) > 3
        assert sum(read) <= size
        assert problems(made.folder)[1] == []
        train(made, 8)
        assert problems(made.folder)[1] == []


def test_what_is_written_later_covers_up_no_damage(run: Path) -> None:
    (run / "environment.json").write_text("{}")
    (run / "report.json").write_text("[]")
    renew_checksums(run, OF_A_REPORT)
    assert [line.partition(":")[0] for line in problems(run)[1]] == ["environment.json"]
    with Run.open(run) as opened:
        train(opened, 3)
    assert [line.partition(":")[0] for line in problems(run)[1]] == ["environment.json"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda told: told["files"].pop("config.toml"), "checksums.json: does not have the checksum that it states"),
        (lambda told: told.pop("files"), "checksums.json: does not have the checksum that it states"),
        (lambda told: told.update(sha256=None), "checksums.json: does not have the checksum that it states"),
    ],
)
def test_the_checksums_themselves(run: Path, change: Callable[[Any], object], said: str) -> None:
    told = json.loads((run / "checksums.json").read_text())
    change(told)
    (run / "checksums.json").write_text(json.dumps(told))
    assert problems(run)[1] == [said]
    for content, start in (("[", "checksums.json: must hold one JSON object"), (None, "checksums.json: missing")):
        (run / "checksums.json").unlink()
        if content is not None:
            (run / "checksums.json").write_text(content)
        (line,) = problems(run)[1]
        assert line.startswith(start)


def test_entries_lead_nowhere_else(run: Path) -> None:
    files = json.loads((run / "checksums.json").read_text())["files"]
    files |= {"../x": files["config.toml"], "/etc/passwd": files["config.toml"], "model": 3}
    table = json.dumps(files, sort_keys=True, separators=(",", ":")).encode()
    (run / "checksums.json").write_text(json.dumps({"files": files, "sha256": hashlib.sha256(table).hexdigest()}))
    assert len([line for line in problems(run)[1] if line.endswith("is no entry of checksums.json")]) == 3
