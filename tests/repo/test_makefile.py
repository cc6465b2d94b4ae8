"""Every verb of the Makefile can be started: with stand-ins for every tool, in a copy of the project's files, nothing
is installed.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
MAKEFILE = (REPOSITORY / "Makefile").read_text(encoding="utf-8")
PHONY = re.findall(r"^\.PHONY:(.*)$", MAKEFILE, re.MULTILINE)[0].split()

# Stands for Python and for every tool of its environment: notes the command, and makes the folders that it is asked
# for. What `make types` looks for in pyright's answer is said to everybody.
STAND_IN = """\
#!/bin/sh
printf '%s\\n' "$*" >> "$NOTED"
if [ "$1 $2" = "-m venv" ]; then
    mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/lint-imports"
fi
case "$*" in *--target*) target=${*#*--target }; mkdir -p "${target%% *}";; esac
if [ "$1 $2" = "-m ${BROKEN:-nothing}" ]; then exit 3; fi
echo 'completeness score'
"""


def _copy(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(REPOSITORY / name, folder)
    (folder / "tools").mkdir()
    stand_in = folder / "tools" / "python"
    stand_in.write_text(STAND_IN, encoding="utf-8")
    stand_in.chmod(0o755)
    return folder


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    return _copy(tmp_path)


def make(folder: Path, *arguments: str, **changes: str) -> "subprocess.CompletedProcess[str]":
    """As a person starts it: what an outer make, such as the one that runs this test, tells its
    children is left out.
    """
    inherited = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "VENV", "PY"))
    }
    environment = {**inherited, "NOTED": str(folder / "noted"), **changes}
    command = ["make", "--no-print-directory", f"PYTHON={folder / 'tools' / 'python'}", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)


def noted(folder: Path) -> list[str]:
    """The commands that the stand-ins were given."""
    return (folder / "noted").read_text(encoding="utf-8").splitlines()


def test_make_alone_lists_every_verb(copy: Path) -> None:
    listed = re.findall(r"^  make ([a-z0-9-]+) +\S", make(copy).stdout, re.MULTILINE)
    assert listed == [verb for verb in PHONY if verb in listed]
    assert set(listed) == set(PHONY)


@pytest.mark.parametrize("verb", PHONY)
def test_a_verb_is_shell_that_can_be_read(copy: Path, verb: str) -> None:
    """Before the environment is made, and with all that it installs."""
    printed = make(copy, "-n", verb)
    assert printed.returncode == 0, printed.stderr
    read = subprocess.run(["sh", "-n"], input=printed.stdout, capture_output=True, text=True, check=False)
    assert read.returncode == 0, f"{read.stderr}\n{printed.stdout}"


@pytest.mark.parametrize("verb", PHONY)
def test_a_verb_runs_through(copy: Path, verb: str) -> None:
    done = make(copy, verb)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stderr == ""
    if verb not in ("help", "clean"):
        assert any(command.startswith("-m pip --quiet install") for command in noted(copy)), (
            "everything is set up by the verb itself"
        )
        installed = len(noted(copy))
        assert make(copy, verb).returncode == 0
        assert not any(" pip " in command or " venv " in command for command in noted(copy)[installed:]), (
            "once is enough"
        )
    if verb == "clean":
        assert not (copy / ".venv").exists()


def test_headlines_are_said_whole(tmp_path: Path) -> None:
    """An apostrophe or a comma in one would end it early, or take the verb with it."""
    written = re.findall(r"\$\(call headline,(.*)\)$", MAKEFILE, re.MULTILINE)
    assert any("'" in words for words in written), "the hard case is there"
    said = "".join(make(_copy(tmp_path / verb), verb).stdout for verb in PHONY)
    assert [words for words in written if f"\n== {words.replace('$(VENV)', '.venv')}\n" not in said] == []


@pytest.mark.parametrize(
    ("verb", "tool"),
    [("lint", "ruff"), ("types", "pyright"), ("suite", "pytest"), ("bench", "benchmarks"), ("setup", "pip")],
)
def test_what_fails_makes_the_verb_fail(copy: Path, verb: str, tool: str) -> None:
    done = make(copy, verb, BROKEN=tool)
    assert done.returncode != 0
    assert any(command.startswith(f"-m {tool}") for command in noted(copy))
