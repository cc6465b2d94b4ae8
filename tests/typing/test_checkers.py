"""mypy and pyright, both strict and without the plugin, accept these files.

Every expected type and every necessary ignore is an assertion.
"""

import json
import shutil
from pathlib import Path

import pytest
from checkers import ROOT, mypy, pyright

FOLDER = Path(__file__).parent
FILES = sorted(
    path
    for path in FOLDER.glob("*.py")
    if not path.name.startswith("test_") and path.stem not in ("conftest", "random_bodies", "random_flow")
)


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mypy")


def test_there_is_something_to_read() -> None:
    assert {path.name for path in FILES} >= {"one_page.py", "layers.py"}


def test_mypy(cache: Path) -> None:
    result = mypy(*map(str, FILES), cache=cache)
    assert result.returncode == 0, result.stdout


def test_pyright() -> None:
    result = pyright(FOLDER / "pyrightconfig.json")
    report = json.loads(result.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(FILES)
    assert report["generalDiagnostics"] == []


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_refusal_is_needed(path: Path, cache: Path, tmp_path: Path) -> None:
    """Without its ignores each file is refused by mypy on exactly the lines that had one."""
    lines = path.read_text().splitlines()
    expected = {number for number, line in enumerate(lines, 1) if "type: ignore" in line}
    bare = tmp_path / path.name
    bare.write_text("\n".join(line.partition("  # type: ignore")[0] for line in lines))
    result = mypy(str(bare), cache=cache)
    refused = {int(line.split(":")[1]) for line in result.stdout.splitlines() if ": error:" in line}
    assert refused == expected
    assert expected, "a typing test refuses something"


def test_pyright_refuses_too(tmp_path: Path) -> None:
    """Without its ignores pyright refuses the same stacks."""
    project = tmp_path / "typing"
    shutil.copytree(FOLDER, project, ignore=shutil.ignore_patterns("test_*", "__pycache__"))
    expected = 0
    for path in project.glob("*.py"):
        lines = path.read_text().splitlines()
        expected += sum("pyright: ignore" in line for line in lines)
        path.write_text(
            "\n".join(line.partition("  # type: ignore")[0].partition("  # pyright: ignore")[0] for line in lines)
        )
    config = json.loads((FOLDER / "pyrightconfig.json").read_text()) | {
        "stubPath": str(ROOT / "stubs"),
        "extraPaths": [str(ROOT)],
    }
    (project / "pyrightconfig.json").write_text(json.dumps(config))
    report = json.loads(pyright(project / "pyrightconfig.json").stdout)
    refused = {(found["file"], found["range"]["start"]["line"]) for found in report["generalDiagnostics"]}
    assert len(refused) == expected
