"""Each sentence of `tests/mutants.py` is held by a test: with the code changed so that it is false, one fails."""

import compileall
import os
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.mutants import MUTANTS, Mutant

REPOSITORY = Path(__file__).resolve().parents[2]
FOLDERS = ("typednn", "tests", "stubs", "examples", "docs", "benchmarks")
FILES = ("pyproject.toml", "README.md", "Makefile", "constraints.txt", "CHANGELOG.md", "CONTRIBUTING.md")


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
    left_out = ("PYTEST_", "COV_", "CI", "BUILD_NUMBER")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    return subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", *tests],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(folder), "HYPOTHESIS_PROFILE": "mutants"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@pytest.mark.parametrize("mutant", MUTANTS, ids=str)
def test_a_false_sentence_fails(mutant: Mutant, copied: Path) -> None:
    path = copied / mutant.file
    text = path.read_text()
    assert text.count(mutant.before) == 1, f"{mutant.file} must hold once: {mutant.before!r}"
    path.write_text(text.replace(mutant.before, mutant.after))
    try:
        result = run(copied, mutant.tests)
    finally:
        path.write_text(text)
    assert result.returncode == 1, result.stdout[-3000:] + result.stderr[-3000:]
    assert " failed" in result.stdout, result.stdout[-3000:]


def test_true_sentences_pass(copied: Path) -> None:
    """The copy is the project: what fails above fails for the change."""
    result = run(copied, ("tests/test_layer.py::test_a_misfit_is_told_when_the_stack_is_built", "tests/kernels/test_sgd.py"))
    assert result.returncode == 0, result.stdout + result.stderr
