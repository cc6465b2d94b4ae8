"""What pyproject.toml promises, and what constraints.txt pins."""

import re
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parents[2]
PYPROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
PINS = [
    line
    for line in (REPOSITORY / "constraints.txt").read_text(encoding="utf-8").splitlines()
    if line.strip() and not line.startswith("#")
]


def test_python_versions_agree() -> None:
    project = PYPROJECT["project"]
    versions = [name.rpartition(" ")[2] for name in project["classifiers"] if re.search(r"Python :: 3\.\d+$", name)]
    assert project["requires-python"] == f">={versions[0]}"
    assert PYPROJECT["tool"]["ruff"]["target-version"] == "py" + versions[0].replace(".", "")
    assert PYPROJECT["tool"]["pyright"]["pythonVersion"] == versions[0]
    assert sys.version_info >= tuple(map(int, versions[0].split(".")))


def test_what_the_library_needs_has_no_upper_bound() -> None:
    operators = {
        requirement: {specifier.operator for specifier in Requirement(requirement).specifier}
        for requirement in PYPROJECT["project"]["dependencies"]
    }
    assert {requirement: found for requirement, found in operators.items() if found != {">="}} == {}


def test_constraints_are_names_and_versions() -> None:
    assert [line for line in PINS if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.]+", line)] == []


def test_every_requirement_but_the_gpu_is_pinned_within_its_bounds() -> None:
    pinned = {canonicalize_name(line.partition("==")[0]): line.partition("==")[2] for line in PINS}
    extras = PYPROJECT["project"]["optional-dependencies"]
    asked = [*PYPROJECT["build-system"]["requires"], *PYPROJECT["project"]["dependencies"]]
    asked += [requirement for extra, requirements in extras.items() if extra != "gpu" for requirement in requirements]
    wrong = [
        text
        for text in asked
        if pinned.get(canonicalize_name(Requirement(text).name), "") not in Requirement(text).specifier
    ]
    assert wrong == []


def test_the_oldest_are_the_lower_bounds() -> None:
    """`constraints-oldest.txt` is what the metadata promises to work with; mypy is that of the extra."""
    needed = [*PYPROJECT["project"]["dependencies"], *PYPROJECT["project"]["optional-dependencies"]["mypy"]]
    bounds = {Requirement(text).name: next(iter(Requirement(text).specifier)).version for text in needed}
    lines = (REPOSITORY / "constraints-oldest.txt").read_text(encoding="utf-8").splitlines()
    oldest = [Requirement(line.partition("#")[0]) for line in lines if not line.startswith("#")]
    first = {each.name: next(iter(each.specifier)) for each in reversed(oldest)}
    assert {specifier.operator for specifier in first.values()} == {"=="}
    assert {name: specifier.version for name, specifier in first.items()} == bounds
