"""What GitHub reads: workflows, forms and the citation are as their schemas say, and what they start is there.

actionlint cannot be installed without a download of its own. These checks need no network.
"""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import typednn

REPOSITORY = Path(__file__).resolve().parents[2]
GITHUB = REPOSITORY / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
SCHEMAS = {
    "github-workflows": WORKFLOWS,
    "github-issue-forms": [GITHUB / "ISSUE_TEMPLATE" / "bug.yml", GITHUB / "ISSUE_TEMPLATE" / "wish.yml"],
    "github-issue-config": [GITHUB / "ISSUE_TEMPLATE" / "config.yml"],
    "citation-file-format": [REPOSITORY / "CITATION.cff"],
}


def _complaints(schema: str, *paths: Path) -> str:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return "" if done.returncode == 0 else done.stdout + done.stderr


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_are_what_their_schemas_say(schema: str) -> None:
    assert _complaints(schema, *SCHEMAS[schema]) == ""


def test_a_wrong_key_is_noticed(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yml"
    text = WORKFLOWS[0].read_text(encoding="utf-8")
    wrong.write_text(text.replace("runs-on:", "run-on:"), encoding="utf-8")
    assert "run-on" in _complaints("github-workflows", wrong)


def _read(path: Path) -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return read


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_starts_what_there_is(path: Path) -> None:
    """Verbs of the Makefile, and tests; it says that it is untried, may only read, and ends in time."""
    workflow, text = _read(path), path.read_text(encoding="utf-8")
    assert text.startswith("# Untried: ")
    assert workflow["permissions"] == {"contents": "read"}
    verbs = set(re.findall(r"^([a-z-]+):", (REPOSITORY / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    commands = [step["run"] for job in workflow["jobs"].values() for step in job["steps"] if "run" in step]
    assert {word for command in commands if command.startswith("make ") for word in command.split()[1:]} <= verbs
    assert commands
    assert [file for file in re.findall(r"tests/\S+\.py", text) if not (REPOSITORY / file).is_file()] == []
    assert [name for name, job in workflow["jobs"].items() if "timeout-minutes" not in job] == []


def test_every_python_and_three_systems_are_tested() -> None:
    matrix = _read(GITHUB / "workflows" / "tests.yml")["jobs"]["suite"]["strategy"]["matrix"]
    project = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    assert matrix["python"] == re.findall(r'"Programming Language :: Python :: (3\.\d+)"', project)
    assert [system.partition("-")[0] for system in matrix["os"]] == ["ubuntu", "macos", "windows"]


def test_only_the_step_that_publishes_may_publish() -> None:
    """By trusted publishing, on a tag that is the version, and without a password."""
    release = _read(GITHUB / "workflows" / "release.yml")
    assert release[True] == {"push": {"tags": ["v*"]}}  # `on`, which YAML reads as yes
    assert [name for name, job in release["jobs"].items() if "permissions" in job] == ["publish"]
    assert release["jobs"]["publish"]["permissions"] == {"id-token": "write"}
    assert "secrets." not in "".join(path.read_text(encoding="utf-8") for path in WORKFLOWS)


def test_the_citation_is_of_this_version() -> None:
    assert _read(REPOSITORY / "CITATION.cff")["version"] == typednn.__version__
