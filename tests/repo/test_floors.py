"""The import contract of pyproject.toml holds, and would notice each kind of breach."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


def _lint_imports(folder: Path) -> tuple[int, str]:
    command = [
        sys.executable,
        "-c",
        "from importlinter.cli import lint_imports_command; lint_imports_command()",
        "--no-cache",
    ]
    # An editable install leads to the real package: the copy must come first.
    environment = {**os.environ, "PYTHONPATH": str(folder), "COLUMNS": "200"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def project_copy(tmp_path: Path) -> Path:
    shutil.copytree(REPOSITORY / "typednn", tmp_path / "typednn", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    return tmp_path


def test_every_contract_is_kept(project_copy: Path) -> None:
    """Z-D1: tensors, layers and training import one another in one direction only."""
    code, said = _lint_imports(project_copy)
    assert code == 0, said
    assert "0 broken" in said


BY_TEXT = {
    # public names, when they are first used: above all floors
    "__init__.py": ["f'typednn.{_MODULE_OF[name]}'", "f'typednn.{name}'"],
    # the module of a command, in the same package
    "cli/command.py": ["f'typednn.cli.{COMMANDS[options.command].module}'"],
    "config/model_config.py": ["module"],  # of the user's layers
    "errors/__init__.py": ["module"],  # of an extra
    "errors/habits.py": ["package", "package"],  # of a name that was renamed, and that a user asks for
    "kernels/pointwise.py": ["module"],  # that declares an op, in a process that compiles its kernel
    "system.py": ["name"],  # of Python's own that not every system has
}


def imported_by_text(source: str) -> list[str]:
    """What a module imports by a text that is computed, or that names a module of typednn: import-linter sees none of
    these.
    """
    found = list[str]()
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call) or ast.unparse(call.func).rpartition(".")[2] not in (
            "import_module",
            "__import__",
        ):
            continue
        (what, *_) = call.args
        if not isinstance(what, ast.Constant) or str(what.value).partition(".")[0] == "typednn":
            found.append(ast.unparse(what))
    return found


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("import_module('typednn.plans')", ["'typednn.plans'"]),
        ("def f():\n    importlib.import_module(f'{package}.plans')", ["f'{package}.plans'"]),
        ("__import__('typednn')", ["'typednn'"]),
        ("import_module(name, package)", ["name"]),
        ("import_module('matplotlib.figure')", []),
    ],
)
def test_an_import_by_text_is_noticed(line: str, found: list[str]) -> None:
    assert imported_by_text(line) == found


def test_nothing_is_imported_by_text_but_what_the_user_or_an_extra_names() -> None:
    root = REPOSITORY / "typednn"
    found = {
        str(path.relative_to(root)): imported_by_text(path.read_text(encoding="utf-8"))
        for path in sorted(root.rglob("*.py"))
    }
    assert {file: texts for file, texts in found.items() if texts} == BY_TEXT


FLOORS = "Each floor imports only what stands below it"
CIRCLES = "No modules import each other in a circle"
MODULE = "Within what a module is, each file imports only what stands below it"
PLUGIN = "Only the static checks import the mypy plugin"
LAYERS = "No layer imports another layer"
CUPY = "Only the CuPy backend imports CuPy"
PEERS = "The library needs no peer"


@pytest.mark.parametrize(
    ("file", "line", "contract"),
    [
        pytest.param("errors/__init__.py", "import typednn.layers.linear", FLOORS, id="upwards"),
        pytest.param(
            "errors/__init__.py",
            "def later():\n    import typednn.contracts.checks",
            FLOORS,
            id="upwards inside a function",
        ),
        pytest.param("errors/__init__.py", "import typednn", FLOORS, id="the package as a whole"),
        pytest.param("mypy_plugin/types.py", "import typednn.contracts", FLOORS, id="sideways"),
        pytest.param("module/state.py", "import typednn.module.tree", MODULE, id="upwards within a package"),
        pytest.param("utils.py", "", FLOORS, id="module without a floor"),
        pytest.param("shapes/axes.py", "import typednn.shapes.flow", CIRCLES, id="in a circle"),
        pytest.param(
            "shapes/axes.py",
            "if TYPE_CHECKING:\n    import typednn.shapes.flow",
            CIRCLES,
            id="in a circle, for checkers",
        ),
        pytest.param("errors/__init__.py", "import typednn.arrays", CIRCLES, id="in a circle on one floor"),
        pytest.param("losses/mse.py", "import typednn.data.loader", FLOORS, id="a loss that reads data"),
        pytest.param("reports/html.py", "import typednn.training.loop", FLOORS, id="a report that trains"),
        pytest.param("layer.py", "import typednn.mypy_plugin.names", PLUGIN, id="the plugin in the library"),
        pytest.param("layers/linear.py", "import typednn.layers.relu", LAYERS, id="layer to layer"),
        pytest.param("random/pcg32.py", "import cupy", CUPY, id="cupy outside its backend"),
        pytest.param("layers/linear.py", "import torch", PEERS, id="peer"),
    ],
)
def test_breach_is_noticed(project_copy: Path, file: str, line: str, contract: str) -> None:
    with (project_copy / "typednn" / file).open("a", encoding="utf-8") as module:
        module.write(f"\n{line}\n")
    code, said = _lint_imports(project_copy)
    assert code == 1, said
    assert f"{contract} BROKEN" in said


def _contracts() -> list[dict[str, Any]]:
    """The contracts of pyproject.toml that say an order."""
    contracts = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    return [contract for contract in contracts if contract["type"] == "layers"]


def _files(row: str) -> list[str]:
    """The packages and modules of a row."""
    return re.split(r"\s+[:|]\s+", row)


def _file(project: Path, module: str) -> Path:
    path = project.joinpath(*module.split("."))
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def _breached(project: Path, pairs: list[tuple[str, str]]) -> str:
    """What is said where the first of each pair imports the second."""
    for importer, imported in pairs:
        with _file(project, importer).open("a", encoding="utf-8") as file:
            file.write(f"\nimport {imported}\n")
    code, said = _lint_imports(project)
    assert code == 1, said
    assert [(importer, imported) for importer, imported in pairs if f"{importer} -> {imported} (" not in said] == [], (
        said
    )
    return said


def test_every_order_is_held_from_its_lowest_row_to_its_highest(project_copy: Path) -> None:
    rows = {contract["name"]: [_files(row) for row in contract["layers"]] for contract in _contracts()}
    places = {contract["name"]: contract["containers"][0] for contract in _contracts()}
    said = _breached(
        project_copy,
        [(f"{places[name]}.{order[-1][0]}", f"{places[name]}.{order[0][0]}") for name, order in rows.items()],
    )
    assert [name for name in rows if f"{name} BROKEN" not in said] == []


def test_what_stands_side_by_side_imports_nothing_of_each_other(project_copy: Path) -> None:
    rows = [
        (contract["containers"][0], re.split(r"\s+\|\s+", row))
        for contract in _contracts()
        for row in contract["layers"]
        if "|" in row
    ]
    assert len(rows) > 10
    _breached(
        project_copy,
        [(f"{place}.{one}", f"{place}.{other}") for place, row in rows for one, other in pairwise([*row, row[0]])],
    )


def _contract(name: str) -> list[str]:
    """The rows of an order, highest first."""
    rows: list[str] = next(contract for contract in _contracts() if contract["id"] == name)["layers"]
    return rows


def _table(header: str) -> list[list[str]]:
    """The cells below ``header`` in docs/design.md."""
    below = (REPOSITORY / "docs" / "design.md").read_text(encoding="utf-8").partition(f"| {header} |")[2]
    lines = below.partition("\n\n")[0].splitlines()[2:]
    assert lines, f"docs/design.md has no table of {header}"
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_contract_names_only_floors_that_exist() -> None:
    rows = [row for contract in _contracts() for row in contract["layers"]]
    assert "(" not in "".join(rows), "a floor in parentheses may be missing, and so hides a misspelt one"


def test_the_page_draws_the_floors_of_the_contract() -> None:
    drawn = [re.findall("`(.*?)`", packages) for _, packages, _ in _table("floor")]
    assert drawn == [_files(row) for row in _contract("floors")], (
        "docs/design.md and pyproject.toml: same floors, same order"
    )


def test_the_readme_names_the_floors_of_the_page() -> None:
    readme = " ".join((REPOSITORY / "README.md").read_text(encoding="utf-8").split())
    named = readme.partition("ten floors, highest first: ")[2].partition(".")[0].split(", ")
    assert named == [name for name, *_ in _table("floor")], "README.md and docs/design.md: same floors, same order"


def test_the_page_names_files_that_exist() -> None:
    named = [file.replace("<op>", "*") for _, files in _table("for") for file in re.findall("`([^`]*[.][^`]*)`", files)]
    assert named
    assert [file for file in named if not list((REPOSITORY / "typednn").glob(file))] == []
