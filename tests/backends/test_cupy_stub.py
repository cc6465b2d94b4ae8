import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
STUBS = REPOSITORY / "stubs"
SAMPLE = Path(__file__).with_name("cupy_sample.py")


def refused() -> dict[int, str]:
    """Line number -> mypy's error code, from the sample's own comments."""
    marks = (
        (number, re.search(r"# refused: (\S+)$", line))
        for number, line in enumerate(SAMPLE.read_text().splitlines(), 1)
    )
    return {number: mark[1] for number, mark in marks if mark}


def run(*command: str, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *command],
        cwd=cwd,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_mypy(tmp_path: Path) -> None:
    done = run(
        "mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(SAMPLE), cwd=tmp_path, MYPYPATH=str(STUBS)
    )
    assert not done.stderr
    found = re.findall(r"cupy_sample\.py:(\d+): error: .*\[(\S+)\]$", done.stdout, flags=re.M)
    assert {int(line): code for line, code in found} == refused(), done.stdout
    assert f"Found {len(refused())} errors in 1 file" in done.stdout, "and none in the stub"


def test_mypy_needs_the_stub(tmp_path: Path) -> None:
    done = run("mypy", "--strict", "--config-file=", f"--cache-dir={tmp_path}", str(SAMPLE), cwd=tmp_path, MYPYPATH="")
    assert re.search(r"error: .*\"?cupy\"?.*\[(import-not-found|import-untyped)\]", done.stdout), done.stdout


def test_pyright(tmp_path: Path) -> None:
    pytest.importorskip("pyright")
    settings = {
        "include": ["."],
        "stubPath": str(STUBS),
        "typeCheckingMode": "strict",
        "reportMissingModuleSource": False,
        # NumPy's own types are partly unknown to strict pyright
        "reportUnknownMemberType": False,
        "reportUnknownVariableType": False,
    }
    (tmp_path / SAMPLE.name).write_text(SAMPLE.read_text())
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    done = run(
        "pyright",
        "--outputjson",
        "--project",
        str(tmp_path),
        "--pythonpath",
        sys.executable,
        cwd=tmp_path,
        PYRIGHT_PYTHON_IGNORE_WARNINGS="1",
    )
    errors = [found for found in json.loads(done.stdout)["generalDiagnostics"] if found["severity"] == "error"]
    assert {error["range"]["start"]["line"] + 1 for error in errors} == set(refused()), errors


def test_the_stub_is_true(tmp_path: Path) -> None:
    """mypy's stubtest compares every name and signature with CuPy itself; a GPU is not needed for that."""
    pytest.importorskip("cupy")
    done = run(
        "mypy.stubtest",
        "cupy",
        "--ignore-missing-stub",
        "--ignore-disjoint-bases",
        "--concise",
        cwd=tmp_path,
        MYPYPATH=str(STUBS),
    )
    assert done.returncode == 0 or (done.returncode == 1 and done.stdout), f"stubtest itself failed: {done}"
    # A newer CuPy may take more than the oldest one that typednn supports.
    wrong = [line for line in done.stdout.splitlines() if "stub does not have parameter" not in line]
    assert [line for line in wrong if not line.startswith("Success")] == []
