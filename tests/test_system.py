"""What only some systems have: on this one, and with POSIX taken away; and that no other module asks for it."""

import ast
import functools
import hashlib
import http.server
import os
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import typednn
from typednn import system

ROOT = Path(__file__).parents[1]
WITHOUT = Path(__file__).parent / "support" / "without_posix.py"
PACKAGE = Path(typednn.__file__).parent
# What POSIX alone has, of names that a program like this one could want.
ONLY_POSIX = {
    *(
        "chown",
        "fchmod",
        "fchown",
        "fork",
        "forkpty",
        "getegid",
        "geteuid",
        "getgid",
        "getloadavg",
        "getpgid",
        "getuid",
    ),
    *("kill", "killpg", "mkfifo", "posix_fadvise", "posix_fallocate", "pread", "pwrite", "register_at_fork", "rename"),
    *("replace", "sched_getaffinity", "setsid", "statvfs", "sysconf", "uname", "wait", "waitpid"),
    *("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "RTLD_NOW"),
}
MODULES = {"fcntl", "grp", "msvcrt", "posix", "pty", "pwd", "resource", "termios", "tty"}
MODEL = """format = 1
input = [4]
[init]
seed = 3
[[layer]]
type = "Linear"
in_features = 4
out_features = 8
[[layer]]
type = "ReLU"
[[layer]]
type = "Linear"
in_features = 8
out_features = 3
[optimizer]
type = "Adam"
lr = 0.01
"""


def posix_in(text: str) -> list[str]:
    """The modules, functions and places of POSIX that a source asks for."""
    found: list[str] = []
    for node in ast.walk(ast.parse(text)):
        match node:
            case ast.Import(names=names):
                found += [alias.name for alias in names if alias.name in MODULES]
            case ast.ImportFrom(module=str(module), names=names) if module in MODULES | {"os"}:
                found += [alias.name for alias in names if module in MODULES or alias.name in ONLY_POSIX]
            case ast.Attribute(value=ast.Name(id="os"), attr=name) if name in ONLY_POSIX:
                found.append(f"os.{name}")
            case ast.Call(args=[ast.Name(id="os"), ast.Constant(value=str(name)), *_]) if name in ONLY_POSIX:
                found.append(name)  # getattr and hasattr
            case ast.Constant(value=str(place)) if re.match("/(proc|sys|dev)/", place):
                found.append(place)
            case _:
                pass
    return found


def test_no_other_module_needs_posix() -> None:
    found = {path.relative_to(PACKAGE).as_posix(): posix_in(path.read_text()) for path in PACKAGE.rglob("*.py")}
    assert found.pop("system.py")
    assert {name: each for name, each in found.items() if each} == {}


@pytest.mark.parametrize(
    "text",
    [
        "import fcntl",
        "def f():\n    from resource import getrlimit",
        "import os\nos.fork()",
        "from os import sysconf",
        "hasattr(os, 'sched_getaffinity')",
        "open('/proc/meminfo')",
        "os.rename(a, b)",
    ],
)
def test_what_needs_posix_is_found(text: str) -> None:
    assert posix_in(text)


# ------------------------------------------------------------------ on this system


def test_locks(tmp_path: Path) -> None:
    """Until the file is closed; a folder too."""
    (tmp_path / "a").touch()
    for place in (tmp_path, tmp_path / "a"):
        first, second = os.open(place, os.O_RDONLY), os.open(place, os.O_RDONLY)
        system.lock(first)
        with pytest.raises(BlockingIOError):
            system.lock(second)
        os.close(first)
        system.lock(second)
        os.close(second)


def test_memory_and_cores() -> None:
    assert 0 < system.free_memory() <= system.memory() < sys.maxsize
    assert 1 <= system.cores() <= (os.cpu_count() or 1)
    assert system.user() == os.geteuid()
    assert "processor" in system.processor_text()


def test_a_process_runs_until_it_has_ended() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert system.runs(child.pid)
    child.communicate(b"\n")
    assert not system.runs(child.pid)
    assert system.runs(2**80)  # it is no number of a process: nothing is removed that might be in use


def test_the_memory_of_a_child_is_limited() -> None:
    code = "input(); a = bytearray(400 << 20); print('took it')"
    for limit, expected in ((100 << 20, ""), (1000 << 20, "took it\n")):
        child = subprocess.Popen(
            [sys.executable, "-c", code],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        system.limit_memory(child.pid, limit)
        assert child.communicate("\n")[0] == expected


# ------------------------------------------------------------------ without POSIX


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(0)
    for name, rows in (("train.csv", 120), ("test.csv", 30)):
        labels = rng.integers(0, 3, rows)
        numbers = labels[:, None] + rng.standard_normal((rows, 4))
        np.savetxt(tmp_path / name, np.column_stack([labels, numbers]), "%.3f", delimiter=",")
    (tmp_path / "model.toml").write_text(MODEL)
    return tmp_path


def started(folder: Path, *arguments: str, posix: bool = False) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "typednn"] if posix else [sys.executable, str(WITHOUT)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TYPEDNN_ENGINE": "reference" if posix else "fast"}
    return subprocess.Popen(
        [*command, *arguments], cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def said(folder: Path, *arguments: str, posix: bool = False) -> str:
    child = started(folder, *arguments, posix=posix)
    output, errors = child.communicate()
    assert child.returncode == 0, errors
    return output + errors


TRAIN = ("train", "model.toml", "train.csv", "test.csv", "--epochs", "60", "--set", "batch_size=10")


def states(run: Path) -> dict[str, bytes]:
    """The arrays of every checkpoint that is kept."""
    return {str(path.relative_to(run)): path.read_bytes() for path in sorted(run.glob("checkpoints/*/*.safetensors"))}


def test_a_training_that_is_killed_and_resumed(files: Path) -> None:
    """It ends with the bits of one that was not, with POSIX. That no kernels run and nothing is locked is told once."""
    said(files, *TRAIN, "--run", "whole", posix=True)
    child = started(files, *TRAIN, "--run", "killed")
    while child.poll() is None and len(list(files.glob("killed/checkpoints/step-*"))) < 2:
        time.sleep(0.001)
    child.kill()
    _, errors = child.communicate()
    assert child.returncode < 0, errors
    told = said(files, "resume", "killed")
    assert told.count("Halide is not installed") == 1, told
    assert told.count("this file system has no locks (No locks available)") == 1, told
    assert states(files / "killed") == states(files / "whole") != {}
    said(files, "check", "killed")


def test_other_commands(files: Path) -> None:
    said(files, *TRAIN, "--run", "run", "--report")
    assert (files / "run" / "report.html").is_file()
    (files / "new.csv").write_text("2.1,1.9,2.2,2.0\n")
    assert "new.csv[0]" in said(files, "predict", "run", "new.csv")
    said(files, "export", "run", "--to", "onnx", "--output", "a.onnx")
    said(files, "export", "run", "--to", "onnx", "--output", "a.onnx")  # over a file that is there
    said(files, "info")


CODE = f"""if True:
    import sys
    sys.path.insert(0, {str(WITHOUT.parent)!r})
    from without_posix import without_posix
"""


def test_a_download_takes_the_place_of_a_file(tmp_path: Path) -> None:
    """It is renamed once it is closed; two at once are refused where there are locks."""
    (tmp_path / "served").write_bytes(b"new" * 1000)
    digest = hashlib.sha256(b"new" * 1000).hexdigest()
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        for locks in (True, False):
            (tmp_path / "kept").write_bytes(b"old")
            code = f"""{CODE}
    without_posix({locks})
    from typednn.data.download import fetch
    fetch("http://127.0.0.1:{server.server_address[1]}/served", "kept", checksum="sha256:{digest}")
"""
            done = subprocess.run(
                [sys.executable, "-c", code],
                cwd=tmp_path,
                env={**os.environ, "no_proxy": "*"},
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
            assert (tmp_path / "kept").read_bytes() == b"new" * 1000
            assert sorted(path.name for path in tmp_path.iterdir()) == ["kept", "served"]
        server.shutdown()


def test_no_process_is_asked_whether_it_runs(tmp_path: Path) -> None:
    """What another has begun to write stays, as it may be writing."""
    left = tmp_path / f".new-a-{2**22}-{'0' * 16}"
    left.touch()
    code = (
        f"{CODE}\n    without_posix(False)\n    from typednn.files import write_whole\n    from pathlib import Path\n"
    )
    code += "    write_whole(Path('a'), b'new')\n"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert sorted(tmp_path.iterdir()) == [left, tmp_path / "a"]


def test_a_run_is_locked_by_windows_locks(files: Path) -> None:
    """By a byte behind the end of the file, so that the number of the process can be read."""
    said(files, "--locks", *TRAIN, "--run", "run")
    code = f"""{CODE}
    without_posix(True)
    from typednn.runs import Run
    with Run.open("run") as run:
        run.require_lock()
        print("held", flush=True)
        input()
"""
    holder: Any = subprocess.Popen(
        [sys.executable, "-c", code], cwd=files, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout.readline() == "held\n"
    refused = started(files, "--locks", "resume", "run")
    _, errors = refused.communicate()
    assert refused.returncode == 1
    assert f"one process at a time trains in a run folder, got a lock held by process {holder.pid}" in errors
    holder.communicate("\n")
    said(files, "--locks", "resume", "run")
