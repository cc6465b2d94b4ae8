"""Each sentence of `tests/mutants.py` and each row of `tests/row_mutants.py` is held by a test: with the code changed,
one fails.

All of them take too long for `make test`. It takes a dozen of each, others for each commit; `make torture` takes all.
"""

import compileall
import os
import py_compile
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from effort import commit

from tests.mutants import MUTANTS, Mutant
from tests.repo.coverage_doc import collect, read_rows
from tests.row_mutants import ROW_MUTANTS

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("typednn", "tests", "stubs", "examples", "docs", "benchmarks")
DRAWN = 12
FILES = ("pyproject.toml", "README.md", "Makefile", "constraints.txt", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")


@pytest.fixture(scope="module")
def copied(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project in a folder of its own, where it may be changed."""
    folder = tmp_path_factory.mktemp("mutants") / "project"
    for name in FOLDERS:
        shutil.copytree(REPOSITORY / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in FILES:
        shutil.copyfile(REPOSITORY / name, folder / name)
    # Once for all mutants; a file that is changed is compared with what was compiled, and compiled anew.
    compileall.compile_dir(folder / "typednn", quiet=1, invalidation_mode=py_compile.PycInvalidationMode.CHECKED_HASH)
    return folder


def run(folder: Path, tests: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    # In CI pytest compares what differs to its last byte, which takes minutes; here nobody reads it.
    left_out = ("PYTEST_", "COV_", "CI", "BUILD_NUMBER", "TYPEDNN_LONG")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    environment.setdefault("TYPEDNN_DATA", str(REPOSITORY.parent / "shared" / "data"))
    return subprocess.run(
        [
            sys.executable,
            "-B",
            "-m",
            "pytest",
            "-q",
            "-x",
            "-p",
            "no:cacheprovider",
            "-p",
            "no:xdist",
            "-m",
            "not gpu",
            *tests,
        ],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(folder), "HYPOTHESIS_PROFILE": "mutants"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def drawn() -> list[Mutant]:
    """A dozen of the sentences' faults, and of the rows' others. The commit decides which: every process of a run draws
    the same.
    """
    known = {(mutant.file, mutant.before, mutant.after) for mutant in MUTANTS}
    others = [mutant for mutant in ROW_MUTANTS if (mutant.file, mutant.before, mutant.after) not in known]
    if "TYPEDNN_LONG" in os.environ:
        return [*MUTANTS, *others]
    choice = random.Random(commit())
    return [*choice.sample(MUTANTS, DRAWN), *choice.sample(others, DRAWN)]


def marked(mutant: Mutant) -> Any:
    """A fault that parity tests notice is for `make parity`: without PyTorch they fail for another reason."""
    peer = any(test.startswith("tests/parity/") for test in mutant.tests)
    return pytest.param(mutant, marks=pytest.mark.parity) if peer else mutant


@pytest.mark.parametrize("mutant", [marked(each) for each in drawn()], ids=str)
def test_a_false_sentence_fails(mutant: Mutant, copied: Path) -> None:
    path = copied / mutant.file
    text = path.read_text()
    assert text.count(mutant.before) == 1, f"{mutant.file} must hold once: {mutant.before!r}"
    path.write_text(text.replace(mutant.before, mutant.after))
    try:
        result = run(copied, mutant.tests)
    finally:
        path.write_text(text)
    if result.returncode == 0 and " passed" not in result.stdout:
        pytest.skip(f"its tests were skipped: {', '.join(mutant.tests)}")
    assert result.returncode == 1, result.stdout[-3000:] + result.stderr[-3000:]
    assert " failed" in result.stdout, result.stdout[-3000:]


def test_true_sentences_pass(copied: Path) -> None:
    """The copy is the project: what fails above fails for the change."""
    result = run(
        copied, ("tests/test_layer.py::test_a_misfit_is_told_when_the_stack_is_built", "tests/kernels/test_sgd.py")
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("mutant", [*MUTANTS, *ROW_MUTANTS], ids=str)
def test_a_fault_changes_one_place(mutant: Mutant) -> None:
    text = (REPOSITORY / mutant.file).read_text()
    assert text.count(mutant.before) == 1, f"{mutant.file} must hold once: {mutant.before!r}"
    assert mutant.before != mutant.after
    assert mutant.file.startswith("typednn/")


def test_each_row_has_a_fault() -> None:
    """Each row that must hold and is tested; and the tests that must notice the fault cite the row."""
    rows, (tests, _) = read_rows(), collect()
    needed = {row.id for row in rows.values() if re.search(r"\bM\b", row.need) and not row.untested}
    faults = {mutant.sentence: mutant for mutant in ROW_MUTANTS}
    assert len(faults) == len(ROW_MUTANTS), "one fault for each row"
    assert not needed - faults.keys(), (
        f"add a fault to tests/row_mutants.py for {', '.join(sorted(needed - faults.keys()))}"
    )
    assert not faults.keys() - rows.keys()
    for row, mutant in faults.items():
        for test in mutant.tests:
            cited = test.partition("[")[0]
            assert cited in tests.get(row, []), f"{test} does not cite {row}"
