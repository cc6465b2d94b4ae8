"""What loops cost the plugin: steps are counted, not seconds; and what is followed no further is told."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from typednn.mypy_plugin import names
from typednn.mypy_plugin.evaluator import Evaluator
from typednn.static_checks import Finding, findings

GRID = """\
import numpy as np
from typednn import Input
from typednn.layers import Linear, ReLU

results = []
for width in range(1, SIZE + 1):
    for depth in range(1, SIZE + 1):
        for batch in range(1, SIZE + 1):
            model = Input(8) >> Linear(8, width) >> ReLU() >> Linear(width, depth) >> ReLU() >> Linear(depth, 2)
            results.append(model.forward(np.zeros((batch, 8), np.float32)))

LOOPbad = Input(4) >> Linear(4, 8) >> Linear(7, 2)
"""
TRAINING = "for step in range(10_000):\n" + "".join(
    f"    layer{number} = Linear(8, {number + 2})\n    results.append(layer{number}.forward(np.zeros((step + 1, "
    "8), np.float32)))\n"
    for number in range(20)
)
SAID = "Linear(7, 2) cannot follow Linear(4, 8): expects 7 features, gets 8"
CALLED = """\
from typednn import Input
from typednn.layers import Linear


def made(width: int):
    return Linear(8, width)


first = made(2)
second = made(3)
third = made(4)
bad = Input(4) >> Linear(4, 8) >> Linear(7, 2)
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _here(cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MYPY_CACHE_DIR", str(cache))
    monkeypatch.chdir(tmp_path)


def _steps(files: list[str]) -> tuple[Counter[str], list[Finding]]:
    """How many expressions were evaluated for each file, and what was found."""
    counted = Counter[str]()
    real = Evaluator.evaluate

    def counting(self: Evaluator, *arguments: Any) -> Any:
        counted[Path(self.scope.api.path).name] += 1
        return real(self, *arguments)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Evaluator, "evaluate", counting)
        found = findings(files)
    return counted, found


def test_a_grid_costs_what_one_loop_costs() -> None:
    """However many models a grid has; a mistake after it is found, and after a long training loop too."""
    sizes = (4, 8, 16, 50)
    for size in sizes:
        loop = TRAINING if size == 50 else ""
        Path(f"grid{size}.py").write_text(GRID.replace("SIZE", str(size)).replace("LOOP", loop), encoding="utf-8")
    counted, found = _steps([f"grid{size}.py" for size in sizes])
    assert [(one.path, one.message) for one in found] == [(f"grid{size}.py", SAID) for size in sizes]
    assert counted["grid4.py"] > 100, "the grid was evaluated"
    assert counted["grid8.py"] <= 3 * counted["grid4.py"]
    assert counted["grid16.py"] <= 3 * counted["grid8.py"]
    assert counted["grid50.py"] <= 10 * counted["grid16.py"]


def test_where_following_ends_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that spends its calls does not spend those of another."""
    monkeypatch.setattr(names, "CALLS", 3)
    for name in ("many.py", "again.py"):
        Path(name).write_text(CALLED, encoding="utf-8")
    with pytest.warns(
        UserWarning, match=r"(many|again)\.py:\d+: calls are followed no further than here: 3 were"
    ) as told:
        found = findings(["many.py", "again.py"])
    lines = [str(one.message).split(":")[:2] for one in told]
    assert sorted(name for name, _ in lines) == ["again.py", "many.py"]
    assert {line for _, line in lines} <= {str(number) for number in range(9, 13)}
    assert found == [], "the mistake comes after the end"
    monkeypatch.undo()


def test_a_file_that_spends_nothing_is_told_nothing(recwarn: pytest.WarningsRecorder) -> None:
    Path("few.py").write_text(CALLED, encoding="utf-8")
    assert [one.message for one in findings(["few.py"])] == [SAID]
    assert [str(one.message) for one in recwarn] == []
