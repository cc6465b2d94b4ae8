"""One name, five places: file, class, export, row of laws, config key. A forgotten one says which line to add."""

import inspect
import re
from pathlib import Path

from tests.layer_cases import CASES
from typednn import Module, layers, losses, optim
from typednn.config.registry import LAYERS

ROOT = Path(__file__).parent.parent.parent
FILES = {path.stem for path in (ROOT / "typednn" / "layers").glob("*.py") if path.stem != "__init__"}


def snake(name: str) -> str:
    return (
        re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name)
        .lower()
        .replace("re_lu", "relu")
        .replace("p_relu", "prelu")
        .replace("si_lu", "silu")
    )


def layer_classes() -> dict[str, type]:
    return {
        name: member for name, member in vars(layers).items() if inspect.isclass(member) and issubclass(member, Module)
    }


def test_each_file_exports_its_layer() -> None:
    exported = {snake(name) for name in layer_classes()}
    assert exported == FILES, "add a line to typednn/layers/__init__.py for each file, and nothing else"


def test_each_layer_has_a_row() -> None:
    rows = {case.name for case in CASES}
    missing = set(layer_classes()) - rows
    assert not missing, f"add a LayerCase to tests/layer_cases.py for {', '.join(sorted(missing))}"


def test_each_layer_can_be_configured() -> None:
    missing = set(layer_classes()) - set(LAYERS)
    assert not missing, f"{', '.join(sorted(missing))} cannot be named in a config"


def test_every_export_is_documented_and_listed() -> None:
    for package in (layers, losses, optim):
        assert sorted(package.__all__) == sorted(name for name in vars(package) if name in package.__all__)
        for name in package.__all__:
            assert inspect.getdoc(getattr(package, name)), f"{package.__name__}.{name} says nothing of itself"


def test_layer_files_say_formula_memory_and_source_before_any_code() -> None:
    for path in sorted((ROOT / "typednn" / "layers").glob("*.py")):
        if path.stem == "__init__":
            continue
        docstring = path.read_text().split('"""')[1]
        assert "Source:" in docstring or "No arithmetic of its own" in docstring, f"{path.name}: name the source"
        assert len(path.read_text().splitlines()) <= 170, f"{path.name}: a layer has swallowed a wrapper's job"


def test_no_layer_imports_another() -> None:
    for path in (ROOT / "typednn" / "layers").glob("*.py"):
        if path.stem != "__init__":
            assert "from typednn.layers" not in path.read_text(), f"{path.name} imports another layer"
