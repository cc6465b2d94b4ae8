"""How a process started to train: when, by which command, from which commit, on what; and no secrets."""

import json
import os
import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from typednn.backends import backend
from typednn.errors import DataError, StateError
from typednn.runs import Run
from typednn.runs.environment import command_line, environment, git_state, start
from typednn.runs.recorded import read_starts

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git on the PATH")


def git(folder: Path, *arguments: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *who, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / "model.py").write_text("layers = 3\n")
    git(folder, "add", "model.py")
    git(folder, "commit", "--quiet", "--message", "first")
    return folder


@needs_git
def test_the_commit_and_whether_it_was_changed(repository: Path) -> None:
    commit = git(repository, "rev-parse", "HEAD")
    assert git_state(repository) == {"commit": commit, "changed": False}
    (repository / "runs").mkdir()
    (repository / "runs" / "metrics.jsonl").write_text("{}")
    assert git_state(repository) == {"commit": commit, "changed": False}, "files that git does not track do not count"
    assert git_state(repository / "runs") == {"commit": commit, "changed": False}, "in a folder of the repository too"
    (repository / "model.py").write_text("layers = 4\n")
    assert git_state(repository) == {"commit": commit, "changed": True}
    git(repository, "add", "model.py")
    assert git_state(repository) == {"commit": commit, "changed": True}, "staged is not committed"
    git(repository, "commit", "--quiet", "--message", "second")
    assert git_state(repository) == {"commit": git(repository, "rev-parse", "HEAD"), "changed": False}


# Programs that a repository's own settings name, which git may run to compare a file. The folder may be a stranger's.
SETTINGS = {
    "a clean filter": ["filter.own.clean", "sh ran.sh"],
    "a process filter": ["filter.own.process", "sh ran.sh"],
    "a filter whose name has a dot": ["filter.own.part.clean", "sh ran.sh"],
    "a required filter": ["filter.own.clean", "sh ran.sh", "filter.own.required", "true"],
    "a monitor of files": ["core.fsmonitor", "sh ran.sh"],
    "a folder of hooks": ["core.hooksPath", "hooks"],
}


@needs_git
@pytest.mark.parametrize("name", SETTINGS)
def test_nothing_of_the_repository_is_run(repository: Path, name: str) -> None:
    (repository / "ran.sh").write_text("touch ran\ncat\n")
    (repository / "hooks").mkdir()
    for hook in ("post-index-change", "fsmonitor-watchman"):
        (repository / "hooks" / hook).write_text("#!/bin/sh\ntouch ran\n")
        (repository / "hooks" / hook).chmod(0o755)
    (repository / ".gitattributes").write_text(f"*.py filter={'own.part' if 'dot' in name else 'own'}\n")
    for key, value in zip(SETTINGS[name][::2], SETTINGS[name][1::2], strict=True):
        git(repository, "config", key, value)
    (repository / "model.py").write_text("layers = 5\n")  # as long as before: git must read it to compare
    found = git_state(repository)
    assert found is not None
    assert found["changed"] is True
    assert not (repository / "ran").exists()


@needs_git
def test_nothing_is_said_without_a_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    assert git_state(tmp_path) is None
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    assert git_state(tmp_path) is None, "no commit yet"
    (tmp_path / ".git" / "HEAD").write_text("nonsense")
    assert git_state(tmp_path) is None, "damaged"


def test_nothing_is_said_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git_state(Path(__file__).parent) is None

    def endless(*arguments: Any, **options: Any) -> Any:
        raise subprocess.TimeoutExpired("git", 10)

    monkeypatch.setattr(subprocess, "run", endless)
    assert git_state(Path(__file__).parent) is None


@needs_git
def test_a_repository_is_not_written_and_runs_nothing(repository: Path, tmp_path: Path) -> None:
    """A repository's own settings may name a program for the file system's events, which a status would run."""
    spy = tmp_path / "spy.sh"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    spy.chmod(0o755)
    git(repository, "config", "core.fsmonitor", str(spy))
    before = {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")}
    os.utime(repository / "model.py", (1, 1))  # so that the index would be refreshed
    assert git_state(repository) is not None
    assert not (tmp_path / "ran").exists()
    assert {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["/usr/bin/python3", "-m", "typednn", "train", "lenet5"], "python3 -m typednn train lenet5"),
        (["python", "train.py", "--name", "my run"], "python train.py --name 'my run'"),
        (["python", "get.py", "https://ann:hunter2@example.org/data"], "python get.py https://…@example.org/data"),
        (["python", "get.py", "--token", "hunter2", "--api-key=hunter2", "x"], "python get.py --token … --api-key=… x"),
        (["python", "get.py", "--password", "hunter2 with spaces"], "python get.py --password '… with spaces'"),
        (["python", "\udcff"], "python '?'"),
        ([], Path(sys.executable).name),
        (["python", "-c", "x" * 5000], "python -c " + "x" * 1990),
    ],
)
def test_the_command_line(arguments: list[str], line: str) -> None:
    assert command_line(arguments) == line


def test_what_a_start_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    monkeypatch.setenv("SECRET_OF_MINE", "hunter2")
    monkeypatch.setattr(sys, "orig_argv", ["/bin/python", "train.py"])
    facts = start(7, "cpu")
    assert facts | environment() == facts
    assert set(facts) - set(environment()) == {"step", "date", "command"}, "no git, no GPU"
    assert (facts["step"], facts["command"]) == (7, "python train.py")
    assert abs(datetime.fromisoformat(facts["date"]) - datetime.now(UTC)) < timedelta(minutes=1)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", facts["date"])
    assert "hunter2" not in json.dumps(facts)


def test_a_gpu_has_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Device(backend.NumpyBackend):  # type: ignore[misc]
        def described(self) -> str:
            return "Card 7"

    monkeypatch.setattr(backend, "_BACKENDS", {"cpu": Device()})
    assert start(0, "cpu")["gpu"] == "Card 7"


def test_each_start_is_a_line(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", "") as run:
        run.write_start(0, "cpu")
        with (run.folder / "starts.jsonl").open("a") as stream:
            stream.write("no JSON\n")
        run.write_start(40, "cpu")
    assert [facts["step"] for facts in read_starts(tmp_path / "run")] == [0, 40]
    with pytest.raises(StateError, match="needs the run's lock"):
        run.write_start(50, "cpu")
    assert read_starts(tmp_path) == []


def test_a_start_stays_in_the_run(tmp_path: Path) -> None:
    (tmp_path / "diary").write_text("mine")
    with Run.create(tmp_path / "run", "") as run:
        (run.folder / "starts.jsonl").symlink_to(tmp_path / "diary")
        with pytest.raises(DataError, match=r"starts\.jsonl: must lie in the run folder, got a link out of it"):
            run.write_start(0, "cpu")
    assert (tmp_path / "diary").read_text() == "mine"
