"""How Hypothesis's examples are drawn: the same by default; anew in CI, and again from what is printed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

PROPERTY = """\
from hypothesis import given, strategies as st

@given(st.integers(0, 2**40))
def test_most_fail(number):
    with open("drawn.txt", "a") as file:
        print(number, file=file)
    assert number % 100 == 0
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the suite's own conftest.py beside what it reads, and one property."""
    tests = tmp_path / "tests"
    for name in ("conftest.py", "slow.txt", "support/effort.py"):
        (tests / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / "tests" / name, tests / name)
    (tests / "pytest.ini").write_text("[pytest]\npythonpath = support\n", encoding="utf-8")
    (tests / "test_property.py").write_text(PROPERTY, encoding="utf-8")
    return tests


def run(project: Path, profile: str, *options: str) -> tuple[str, str]:
    """What was printed, and what was drawn."""
    of_this_run = ("HYPOTHESIS_PROFILE", "TYPEDNN_DRAWN_SEED", "PYTEST_XDIST")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(of_this_run)}
    environment |= {"HYPOTHESIS_PROFILE": profile} if profile else {}
    (project / "drawn.txt").unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stdout, (project / "drawn.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("profile", ["ci", "long"])
def test_a_run_is_repeated_from_what_it_prints(project: Path, profile: str) -> None:
    printed, drawn = run(project, profile, "-q")
    assert drawn != run(project, profile, "-q")[1], "two runs drew the same examples"
    found = re.search(rf"HYPOTHESIS_PROFILE={profile} python -m pytest (--hypothesis-seed=\d+)", printed)
    assert found, printed
    again, redrawn = run(project, profile, "-q", found[1])
    assert redrawn == drawn
    assert re.findall(r"number=(\d+)", again) == re.findall(r"number=(\d+)", printed) != []


def test_workers_draw_from_the_seed_that_is_printed(project: Path) -> None:
    printed, drawn = run(project, "ci", "-n", "2")
    found = re.search(r"--hypothesis-seed=\d+", printed)
    assert found, printed
    assert run(project, "ci", "-n", "1", found[0])[1] == drawn == run(project, "ci", found[0])[1]


def test_by_default_nothing_varies(project: Path) -> None:
    assert run(project, "")[1] == run(project, "")[1]


@pytest.mark.parametrize(
    ("profile", "examples"), [("default", "6 3 400 False"), ("ci", "6 3 400 False"), ("long", "125 62 8000 True")]
)
def test_torture_draws_more_where_examples_are_expensive_too(profile: str, examples: str) -> None:
    code = (
        "import effort; print(*(each.max_examples for each in (effort.expensive, effort.very_expensive, "
        "effort.cheap)), effort.LONG)"
    )
    environment = {name: value for name, value in os.environ.items() if name != "TYPEDNN_LONG"} | {
        "HYPOTHESIS_PROFILE": profile
    }
    folder = REPOSITORY / "tests" / "support"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == examples


@pytest.mark.parametrize(("profile", "examples"), [("default", 25), ("ci", 10)])
def test_ci_has_a_share_of_the_examples(project: Path, profile: str, examples: int) -> None:
    (project / "test_property.py").write_text(PROPERTY.replace("% 100 == 0", ">= 0"), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    subprocess.run(
        command, cwd=project, env=os.environ | {"HYPOTHESIS_PROFILE": profile}, check=True, capture_output=True
    )
    assert len((project / "drawn.txt").read_text(encoding="utf-8").splitlines()) == examples


def test_ci_and_torture_draw_anew() -> None:
    assert "HYPOTHESIS_PROFILE=ci" in (REPOSITORY / ".ci" / "run").read_text(encoding="utf-8")
    torture = (REPOSITORY / "Makefile").read_text(encoding="utf-8").partition("\ntorture:")[2].partition("\n\n")[0]
    assert "HYPOTHESIS_PROFILE=long" in torture
