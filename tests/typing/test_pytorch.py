"""Programs that use PyTorch, as people write them: the plugin finds each mistake, and reports nothing else.

`pytorch/faulty` holds a program per file, with one mistake in its sizes; `pytorch/correct` has the same program without
it. The line that must be reported ends in ``# shape``. All of them are run with jaxtyping and beartype, which check the
annotations: the correct ones run, and each faulty one raises.
"""

import importlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.typing.test_corpus import KINDS, ROOT, Program, changes, found_in, identify, mypy, programs, reported

PYTORCH = Path(__file__).parent / "pytorch"
CORRECT, FAULTY = (programs(kind, PYTORCH) for kind in KINDS)
SETTINGS = (
    "[mypy]\nstrict = True\nwarn_return_any = False\nuntyped_calls_exclude = torch\n"  # a call of a module is Any
)
PLUGIN = f"{SETTINGS}plugins = typednn.mypy_plugin\n\n[typednn-mypy]\ndebug = True\n"

# The mistakes that the plugin does not report.
MISSED = {"svd_rank": "every expression of the body is Any: mypy asks the plugin nothing"}

# Imports the programs named on the command line with their annotations checked; prints what each raised.
RUNNER = """
import contextlib, importlib, io, json, sys, warnings
from jaxtyping import install_import_hook

sys.dont_write_bytecode = True
sys.path.insert(0, "")
outcomes = {}
with install_import_hook(sys.argv[1:], "beartype.beartype"):
    for name in sys.argv[1:]:
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                importlib.import_module(name)
        except Exception as error:
            outcomes[name] = f"{type(error).__name__}: {error}"
        else:
            outcomes[name] = ""
print(json.dumps(outcomes))
"""


def run(kind: str) -> dict[str, str]:
    """What each program of a kind raises, empty where it runs."""
    command = [sys.executable, "-c", RUNNER, *(program.name for program in programs(kind, PYTORCH))]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    result = subprocess.run(command, cwd=PYTORCH / kind, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    outcomes: dict[str, str] = json.loads(result.stdout)
    return outcomes


@pytest.fixture(scope="module")
def found(
    tmp_path_factory: pytest.TempPathFactory, mypy_cache: Callable[[str], Path]
) -> dict[str, dict[tuple[str, int], str]]:
    """What mypy with the plugin reports of each kind, in one run each."""
    importlib.import_module("torch")  # only the parity extra installs it

    config = tmp_path_factory.mktemp("pytorch") / "plugin.ini"
    config.write_text(PLUGIN)
    return found_in(PYTORCH, config, mypy_cache("pytorch"))


# ---------------------------------------------------------------------------------------------- the programs themselves


def test_there_are_enough() -> None:
    assert len(FAULTY) >= 80
    assert [program.name for program in CORRECT] == [program.name for program in FAULTY]


@pytest.mark.parametrize(
    ("correct", "faulty"), list(zip(CORRECT, FAULTY, strict=True)), ids=[program.name for program in FAULTY]
)
def test_each_pair_differs_in_one_place(correct: Program, faulty: Program) -> None:
    assert (len(correct.expected), len(faulty.expected)) == (0, 1)
    assert faulty.docstring.startswith(f"{correct.docstring[:-4]}: ")
    assert changes(correct, faulty) == 1


# ---------------------------------------------------------------------------------------------------- run


@pytest.mark.parity
def test_the_correct_run() -> None:
    assert {name: raised for name, raised in run("correct").items() if raised} == {}


@pytest.mark.parity
def test_the_faulty_raise() -> None:
    assert [name for name, raised in run("faulty").items() if not raised] == []


# ---------------------------------------------------------------------------------------------------- read by mypy


@pytest.mark.parity
@pytest.mark.parametrize("kind", KINDS)
def test_plain_mypy_sees_none(kind: str, tmp_path: Path, mypy_cache: Callable[[str], Path]) -> None:
    config = tmp_path / "plain.ini"
    config.write_text(SETTINGS)
    result = mypy(kind, config, mypy_cache("plain pytorch"), PYTORCH)
    assert (result.returncode, result.stderr) == (0, ""), result.stdout


@pytest.mark.parity
def test_the_plugin_accepts_the_correct(found: dict[str, dict[tuple[str, int], str]]) -> None:
    assert found["correct"] == {}


@pytest.mark.parity
@pytest.mark.parametrize("program", FAULTY, ids=identify)
def test_the_plugin_reports_the_faulty(program: Program, found: dict[str, dict[tuple[str, int], str]]) -> None:
    own = {place: message for place, message in found["faulty"].items() if place[0] == program.path.name}
    assert own.keys() == (set() if program.name in MISSED else program.expected.keys()), own
    assert all(message.endswith("  [shape]") for message in own.values())


@pytest.mark.parity
def test_a_factory_of_another_module_is_followed(tmp_path: Path, mypy_cache: Callable[[str], Path]) -> None:
    """Also where no annotation says anything."""
    models = "from torch import nn\n\n\ndef made(width: int) -> nn.Sequential:\n"
    project = tmp_path / "project"
    project.mkdir()
    (project / "models.py").write_text(models + "    return nn.Sequential(nn.Linear(784, width), nn.ReLU())\n")
    (project / "use.py").write_text("import torch\nfrom models import made\n\ny = made(8)(torch.zeros(2, 785))\n")
    config = tmp_path / "plugin.ini"
    config.write_text(PLUGIN)
    found = reported(mypy("project", config, mypy_cache("pytorch"), tmp_path).stdout)
    said = "Linear(784, 8) cannot follow an array of shape (2, 785): expects 784 features, gets 785  [shape]"
    assert found == {("use.py", 4): said}
