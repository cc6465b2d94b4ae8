"""`make quick` runs the tests that a change touches, the nearest first, and ends in time."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
import quick

TESTS = sorted((quick.ROOT / "tests").rglob("test_*.py"))


def names(*files: str) -> list[str]:
    return [str(test.relative_to(quick.ROOT / "tests")) for test in quick.nearest(files, TESTS)]


def test_a_changed_test_is_the_first() -> None:
    assert names("tests/test_stack.py") == ["test_stack.py"]


def test_tests_of_the_same_name_come_before_those_that_import_it() -> None:
    found = names("typednn/kernels/linear/cpu.py", "tests/graph/test_tape.py")
    assert found[0] == "graph/test_tape.py"
    assert found[1] == "kernels/test_linear_bfloat16.py"


def test_the_nearer_of_two_importers_comes_first() -> None:
    """typednn.runs.run imports typednn.runs.history, and typednn.training.session imports that."""
    found = names("typednn/runs/history.py")
    assert found.index("runs/test_run.py") < found.index("training/test_loop.py")


def test_a_page_is_tested_by_the_tests_of_the_repository() -> None:
    assert names("docs/design.md") == [
        str(test.relative_to(quick.ROOT / "tests")) for test in TESTS if test.parent.name == "repo"
    ]


def test_helpers_count() -> None:
    """Whoever imports a changed one is among the first; what they import is what a test uses."""
    assert quick.helpers_in({"tests.layer_cases.LayerCase", "effort", "typednn.random"}) == {"layer_cases", "effort"}
    assert "laws/test_state.py" in names("tests/layer_cases.py")
    assert "examples/test_lenet5_digits.py" in names("examples/lenet5_digits.py")


def test_imports_of_every_form() -> None:
    within = "def f():\n    from typednn import layers\n    from typednn.data.csv import read\n    from . import x"
    found = quick.imports(f"import typednn.runs.run\nimport numpy\n{within}")
    assert {name for name in found if name.startswith("typednn")} == {
        "typednn.runs.run",
        "typednn",
        "typednn.layers",
        "typednn.data.csv",
        "typednn.data.csv.read",
    }


def test_distances_are_the_fewest_imports() -> None:
    found = quick.distances(["typednn.graph.slab"])
    assert (found["typednn.graph.slab"], found["typednn.graph.graph"], found["typednn.graph.custom"]) == (0, 1, 1)
    assert found["typednn.graph.program"] == 2
    assert "typednn.errors" not in found


@pytest.mark.parametrize(("seconds", "outcome"), [(0, "1 skipped"), (600, "1 passed")])
def test_what_has_no_time_is_skipped(seconds: float, outcome: str) -> None:
    environment = {
        **os.environ,
        "HYPOTHESIS_PROFILE": "quick",
        "TYPEDNN_TESTS_UNTIL": str(time.time() + seconds),
        "PYTEST_ADDOPTS": "",
    }
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "tests/repo/test_quick.py::test_a_changed_test_is_the_first",
    ]
    done = subprocess.run(command, cwd=quick.ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert outcome in done.stdout


def test_what_was_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    monkeypatch.setattr(quick, "ROOT", tmp_path)
    git("init")
    for file in ("one.py", "two.py"):
        (tmp_path / file).write_text("1\n")
        git("add", file)
        git("commit", "-m", file)
    assert quick.changed("") == ["two.py"]
    (tmp_path / "one.py").write_text("2\n")
    (tmp_path / "three.py").write_text("3\n")
    assert quick.changed("") == ["one.py", "three.py"]
    assert quick.changed("HEAD~1") == ["one.py", "two.py", "three.py"]
    with pytest.raises(SystemExit, match="make quick: git diff --name-only nowhere: fatal"):
        quick.changed("nowhere")
