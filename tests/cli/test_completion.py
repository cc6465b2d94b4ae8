"""typednn completion: what a shell needs to complete words; asked in bash, as it asks."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import environment
from typednn.cli.commands import COMMANDS

Command = Callable[..., Any]

# As bash calls the function that `complete -F` names, with the words of the line.
_ASK = """\
source "$1"
function=$(complete -p typednn | sed 's/.*-F \\([^ ]*\\).*/\\1/')
shift
COMP_WORDS=("$@")
COMP_CWORD=$(( $# - 1 ))
"$function" typednn "${COMP_WORDS[$COMP_CWORD]}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("shtab")
    path = tmp_path_factory.mktemp("completion") / "typednn.bash"
    done = subprocess.run(
        [sys.executable, "-m", "typednn", "completion", "bash"],
        env=environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    path.write_text(done.stdout)
    return path


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("tr", {"train"}),
        ("re", {"resume", "report"}),
        ("", set(COMMANDS)),
        ("train lene", {"lenet5", "lenet5-paper"}),
        ("train --model resnet", {"resnet18", "resnet34", "resnet50"}),
        ("train mo", {"model.toml"}),
        ("train --batch", {"--batch-size"}),
        ("train --task reg", {"regression"}),
        ("train --data pho", {"photos"}),
        ("eval run", {"runs"}),
        ("eval --weights b", {"best"}),
        ("completion z", {"zsh"}),
        ("summary gp", {"gpt2"}),
    ],
)
def test_bash_completes(script: Path, tmp_path: Path, line: str, words: set[str]) -> None:
    if shutil.which("bash") is None:
        pytest.skip("needs bash")
    for name in ("runs", "photos"):
        (tmp_path / name).mkdir()
    for name in ("model.toml", "run.txt"):
        (tmp_path / name).write_text("")
    command = ["bash", "-c", _ASK, "bash", str(script), "typednn", *line.split(" ")]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    options = {"-h", "--help", "--version"} if not line else set()  # of an empty word every one may be told
    assert set(done.stdout.split()) - options == words


@pytest.mark.parametrize(("shell", "begins"), [("zsh", "#compdef typednn"), ("fish", "")])
def test_other_shells_know_every_command(at_once: Command, shell: str, begins: str) -> None:
    pytest.importorskip("shtab")
    done = at_once("completion", shell)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(begins)
    for word in (*COMMANDS, "resnet50", "batch-size"):
        assert word in done.stdout, word


def test_without_shtab(at_once: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shtab", None)
    done = at_once("completion", "bash")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "needs the package shtab, got no module named 'shtab'; pip install 'typednn[completion]'\n"
    )
