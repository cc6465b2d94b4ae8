"""Standard streams that are closed, full, unread or narrow, paths that are no UTF-8, and Ctrl-C while the command line
starts.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from typednn.cli import main
from typednn.data import Characters
from typednn.errors import UNSEEN
from typednn.models import GPT2, save_gpt2

REPOSITORY = Path(__file__).resolve().parents[2]
ODD = os.fsdecode(b"\xff")  # as in a file name that is Latin-1

# What each verb is asked in the folder that `place` makes, and its exit code.
VERBS: list[tuple[str, int]] = [
    ("--help", 0),
    ("trian", 2),
    ("info", 0),
    ("summary lenet5", 0),
    ("check faulty.toml", 1),
    ("gradcheck Linear(4,2)", 0),
    ("eval run", 0),
    ("predict run rows.csv --json", 0),
    ("predict run none.csv", 1),
    ("generate language --prompt a --max-tokens 9", 0),
    ("generate language --interactive", 0),
    ("train model.toml train.csv test.csv --epochs 1", 0),
]


def environment(**changes: str) -> dict[str, str]:
    return {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY), **changes}


@pytest.fixture
def place(trained: tuple[Path, Any], files: Path, tmp_path: Path) -> Path:
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    shutil.copytree(trained[0], tmp_path / "run")
    (tmp_path / "rows.csv").write_text("2.1,0.1,-0.2,1.1\n", encoding="utf-8")
    Characters("a").save(tmp_path / "language")
    save_gpt2(GPT2(1, 4, 4, 1, 1, rng=np.random.default_rng(0)), tmp_path / "language")
    (tmp_path / "faulty.py").write_text("", encoding="utf-8")
    faulty = (files / "model.toml").read_text(encoding="utf-8").replace("in_features = 8", "in_features = 9")
    (tmp_path / "faulty.toml").write_text(faulty, encoding="utf-8")
    return tmp_path


def run(
    arguments: str | Sequence[str], place: Path, shell: str = "", **changes: Any
) -> subprocess.CompletedProcess[str]:
    """The command, its streams as a shell's ``>&-`` would have them."""
    words = arguments.split() if isinstance(arguments, str) else arguments
    command = ["sh", "-c", f'exec "$@" {shell}', "sh", sys.executable, "-W", "error", "-m", "typednn", *words]
    streams = {name: changes.pop(name, subprocess.PIPE) for name in ("stdout", "stderr")}
    return subprocess.run(
        command, cwd=place, env=environment(**changes), check=False, timeout=120, encoding="utf-8", **streams
    )


@pytest.mark.parametrize(("arguments", "code"), VERBS)
def test_closed_streams(place: Path, arguments: str, code: int) -> None:
    """Exit code and the other stream are as ever."""
    done = run(arguments, place, "<&- >&-")
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    done = run(arguments.replace("1", "2"), place, "2>&-") if "train" not in arguments else done
    assert done.returncode == code, done.stdout


@pytest.mark.parametrize(("arguments", "code"), VERBS)
def test_nobody_reads(place: Path, arguments: str, code: int) -> None:
    """As before ``| head -0``: the command does its work and says how it ended; a training is not cut short."""
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run(arguments, place, stdout=writer, stderr=writer)
    finally:
        os.close(writer)
    assert done.returncode == code
    if "train" in arguments:
        assert (place / "runs" / "model-1" / "report.json").is_file()


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(("arguments", "where"), [("info", "typednn info"), ("--help", "typednn")])
def test_full_disk(place: Path, arguments: str, where: str) -> None:
    """A result that is lost is an error; a message that is lost is none."""
    done = run(arguments, place, ">/dev/full")
    assert done.returncode == 1
    assert done.stderr == f"{where}: standard output: No space left on device\n"
    assert run(arguments, place, "2>/dev/full").returncode == 0
    assert run(arguments, place, ">/dev/full 2>/dev/full").returncode == 1


def test_narrow_encoding(place: Path) -> None:
    """What it can't say, it escapes; JSON stays JSON."""
    (place / "zahlen-größe.csv").write_bytes((place / "rows.csv").read_bytes())
    done = run(["predict", "run", "zahlen-größe.csv"], place, PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("zahlen-gr\\xf6\\xdfe.csv[0]")
    done = run(["predict", "run", "zahlen-größe.csv", "--json"], place, PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert json.loads(done.stdout)["file"] == "zahlen-größe.csv", done.stderr
    done = run(["predict", "run", "größe.csv"], place, PYTHONIOENCODING="ascii", PYTHONUTF8="1")
    assert done.returncode == 1
    assert done.stderr.startswith("typednn predict: gr\\xf6\\xdfe.csv: must be a readable file, got No such file")


def test_paths_that_are_no_utf8(place: Path) -> None:
    """Bytes that are no text reach every verb; they are shown escaped, and a run remembers them."""
    for name in ("model.toml", "train.csv", "test.csv", "rows.csv", "faulty.py"):
        (place / name).rename(place / name.replace(".", f"{ODD}."))
    files = (f"model{ODD}.toml", f"train{ODD}.csv", f"test{ODD}.csv")
    train = run(["train", *files, "--run", f"new{ODD}", "--epochs", "1"], place)
    assert train.returncode == 0, train.stderr
    assert "run folder: new\\udcff\n" in train.stderr
    for arguments in (["resume"], ["eval"], ["report"]):
        done = run([*arguments, f"new{ODD}"], place)
        assert done.returncode == 0, done.stderr
    done = run(["predict", f"new{ODD}", f"rows{ODD}.csv", "--json"], place)
    assert json.loads(done.stdout)["file"] == f"rows{ODD}.csv", done.stderr
    assert run(["summary", f"model{ODD}.toml"], place).returncode == 0
    assert run(["gradcheck", f"model{ODD}.toml"], place).returncode == 0
    assert run(["check", f"model{ODD}.toml"], place).returncode == 0
    for target in (f"faulty{ODD}.py", "."):
        done = run(["check", target], place)
        assert (done.returncode, done.stdout) == (1, "")
        assert (
            done.stderr
            == "typednn check: faulty\\udcff.py: mypy reads paths in UTF-8, got bytes that are none; rename it\n"
        )
    done = run([f"tr{ODD}in"], place)
    assert done.returncode == 2
    assert "Traceback" not in done.stderr


# Names of files may hold all but a slash and a NUL: these clear a screen, ring, turn the line around, and end it.
HOSTILE = "a\x1b[2J\x07\u202eb\x9bc\rd"


def test_names_command_no_terminal(
    place: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """What a name holds is shown as escapes by every verb, on both streams; the file is used all the same."""
    named: dict[str, str] = {}
    for name in ("model.toml", "train.csv", "test.csv", "rows.csv", "faulty.py"):
        named[name] = name.replace(".", f"{HOSTILE}.")
        (place / name).rename(place / named[name])
    new, none = f"new{HOSTILE}", f"none{HOSTILE}"
    monkeypatch.chdir(place)
    written = ""
    for code, arguments in (
        (0, ["train", named["model.toml"], named["train.csv"], named["test.csv"], "--run", new, "--epochs", "1"]),
        *((0, [verb, new]) for verb in ("resume", "eval", "report", "summary")),
        (0, ["predict", new, named["rows.csv"]]),
        (0, ["predict", new, named["rows.csv"], "--json"]),
        (0, ["check", named["model.toml"]]),
        (0, ["check", named["faulty.py"]]),
        (1, ["summary", none]),
        (1, ["predict", none, named["rows.csv"]]),
        (1, ["train", named["model.toml"], "--set", HOSTILE]),
    ):
        assert main(arguments) == code, arguments
        written += "".join(capfd.readouterr())
    assert r"\u001b[2J\u0007\u202eb\u009bc\u000dd" in written
    assert not UNSEEN.search(written)


@pytest.mark.parametrize("during", ["argparse", "numpy", "typednn.recipes", "signal"])
@pytest.mark.parametrize("script", ["-m typednn", "console script"])
def test_ctrl_c_while_it_starts(tmp_path: Path, during: str, script: str) -> None:
    """At any import, one line and 130; ``during`` is a module in whose import it comes."""
    code = f"""
import sys
class Stopping:
    def find_spec(self, name, path, target=None):
        if name == {during!r}:
            import _signal
            try:
                _signal.raise_signal(_signal.SIGINT)
            except KeyboardInterrupt:
                if name == "numpy":  # as its C modules do
                    raise ImportError("could not import another") from None
                raise
sys.meta_path.insert(0, Stopping())
sys.argv = ["typednn", "train", "mlp"]
"""
    if script == "-m typednn":
        code += "import runpy\nrunpy.run_module('typednn', run_name='__main__', alter_sys=False)"
    else:
        code += "from typednn.cli import main\nsys.exit(main())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "stopped\n")


COLLECTS = """
import gc, os, signal, sys, time
from typednn.cli import command, main

def hook(phase, info):
    gc.callbacks.clear()
    os.kill(os.getpid(), getattr(signal, sys.argv[1]))
    for _ in range(1000):
        pass

def run(arguments):
    if sys.argv[1] == "SIGTERM":  # as a training has it before its first step
        from typednn.training.signals import Stop, stopping
        with stopping(Stop(), ""):
            return collect()
    return collect()

def collect():
    gc.callbacks.append(hook)
    gc.collect()
    time.sleep(20)
    return 0

command.run = run
sys.exit(main([]))
"""


@pytest.mark.parametrize(("name", "code", "said"), [("SIGINT", 130, "stopped\n"), ("SIGTERM", -signal.SIGTERM, "")])
def test_a_signal_within_a_garbage_collection(tmp_path: Path, name: str, code: int, said: str) -> None:
    """Neither lost nor told as the traceback of whoever's callback ran."""
    command = [sys.executable, "-c", COLLECTS, name]
    done = subprocess.run(
        command, cwd=tmp_path, env=environment(), capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout, done.stderr) == (code, "", said)


def test_little_is_imported_before_the_guard() -> None:
    """What ``from typednn.cli import main`` imports can't be guarded by it."""
    code = "import sys; before = set(sys.modules); import typednn.cli; print(*sorted(set(sys.modules) - before))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True, timeout=120)
    parts = {"__future__", "importlib", "importlib._bootstrap", "importlib._bootstrap_external", "warnings"}
    assert set(done.stdout.split()) <= {"typednn", "typednn.cli", "typednn.hooks", "typednn.version", *parts}


@pytest.mark.skipif(sys.platform == "win32", reason="needs an interval timer")
def test_ctrl_c_while_it_prints(tmp_path: Path) -> None:
    """At any moment; nothing is printed twice."""
    code = """
import signal, sys
from typednn.cli.output import safe_streams

def stop(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, stop)
number = 0
with safe_streams():
    for _ in range(500):
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.001)
            while True:
                number += 1
                sys.stdout.write(f"{number}\\n")
                sys.stdout.flush()
        except KeyboardInterrupt:
            pass
"""
    with (tmp_path / "printed").open("w") as printed:
        subprocess.run([sys.executable, "-c", code], env=environment(), stdout=printed, check=True, timeout=120)
    numbers = [int(line) for line in (tmp_path / "printed").read_text().split()]
    assert len(numbers) > 500
    assert numbers == sorted(set(numbers))
