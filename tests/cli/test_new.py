"""typednn new: a project whose own test, types and commands pass at once."""

import subprocess
import sys
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import environment
from typednn.cli import new

Command = Callable[..., Any]


def _python(*arguments: str, cwd: Path) -> Any:
    command = [sys.executable, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False, timeout=300)


def test_a_project_passes_at_once(at_once: Command, tmp_path: Path) -> None:
    """Its test, mypy --strict with the plugin, the command that the hint names, and the style of ruff."""
    done = at_once("new", "my-project")
    assert done.returncode == 0, done.stderr
    project = tmp_path / "my-project"
    assert sorted(done.stdout.splitlines()) == sorted(str(path.relative_to(tmp_path)) for path in project.iterdir())
    assert "next: cd my-project, then typednn train model.toml --import layers --data spiral --epochs 60" in done.stderr
    assert (project / "README.md").read_text().startswith("# my-project\n")
    tests = _python("-m", "pytest", "-q", cwd=project)
    assert tests.returncode == 0, tests.stdout + tests.stderr
    assert "3 passed" in tests.stdout
    types = _python("-m", "mypy", "--strict", cwd=project)
    assert types.returncode == 0, types.stdout
    hint = done.stderr.partition("then typednn ")[2].partition(";")[0]
    trained = _python("-m", "typednn", *hint.split(), cwd=project)
    assert trained.returncode == 0, trained.stderr
    assert float(trained.stdout.rpartition("test accuracy ")[2].partition("%")[0]) > 95, trained.stdout
    style = _python("-m", "ruff", "check", "--isolated", "--ignore", "F722", "--line-length", "140", ".", cwd=project)
    assert style.returncode == 0, style.stdout


def test_the_tests_of_a_project_find_mistakes(at_once: Command, tmp_path: Path) -> None:
    """A wrong derivative, and a size that does not fit."""
    at_once("new", "broken")
    project = tmp_path / "broken"
    layers = (project / "layers.py").read_text()
    (project / "layers.py").write_text(layers.replace("s + self.beta", "s - self.beta"))
    tests = _python("-m", "pytest", "-q", "-k", "layer or config", cwd=project)
    assert tests.returncode == 1
    assert "LawBroken" in tests.stdout
    (project / "layers.py").write_text(layers)
    script = (project / "train.py").read_text()
    (project / "train.py").write_text(script.replace("Linear(HIDDEN, 3)", "Linear(31, 3)"))
    types = _python("-m", "mypy", cwd=project)
    assert types.returncode == 1
    assert "expects 31 features, gets 32" in types.stdout


@pytest.mark.parametrize(
    "name", ["", ".", "..", "1st", "two words", "-x", "ünder", "typednn", "TypeDNN", "a.b", "a\nb"]
)
def test_a_bad_name(at_once: Command, tmp_path: Path, name: str) -> None:
    done = at_once("new", "--", name)
    assert done.returncode == 1
    assert done.stderr.startswith("typednn new: new: a project's name begins with a letter")
    assert "; such as typednn new my-project" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_what_exists_stays(at_once: Command, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("mine")
    for name, got in (("folder", "a folder"), ("file", "a file")):
        done = at_once("new", name)
        assert done.returncode == 1
        assert done.stderr == f"typednn new: new: {name} must not exist yet, got {got}; choose another name\n"
    assert list((tmp_path / "folder").iterdir()) == []
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_within_another(at_once: Command, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    assert at_once("new", "work/mine").returncode == 0
    assert (tmp_path / "work" / "mine" / "model.toml").is_file()
    missing = at_once("new", "nowhere/mine")
    assert missing.returncode == 1
    assert "new: nowhere must be a folder, got none of this name; make it first" in missing.stderr


def test_a_full_disk_leaves_nothing(at_once: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_text

    def full(path: Path, text: str, **more: Any) -> int:
        if path.name == "train.py":
            raise OSError(28, "No space left on device", str(path))
        return write(path, text, **more)

    monkeypatch.setattr(Path, "write_text", full)
    done = at_once("new", "mine")
    assert done.returncode == 1
    assert "No space left on device" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_every_file_of_a_project_is_written() -> None:
    there = {path.name for path in files("typednn.cli").joinpath("project").iterdir()}
    assert there == set(new._FILES.values())
