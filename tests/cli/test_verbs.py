"""Every command, started by the installed script ``typednn``, which does not put the current folder on Python's path as
``python -m`` does; and every command on folders that are a run, or are none.
"""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.cli.conftest import environment
from typednn.cli import main, parser
from typednn.cli.commands import COMMANDS
from typednn.data import Characters
from typednn.models import GPT2, save_gpt2

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = Path(sys.executable).with_name("typednn")

# The file of docs/config.md that registers a layer of the reader's own.
(LAYERS,) = re.findall(
    r"<!-- file: my_layers\.py -->\n```python\n(.*?)^```",
    (REPOSITORY / "docs" / "config.md").read_text(encoding="utf-8"),
    re.MULTILINE | re.DOTALL,
)

Script = Callable[..., Any]


def _script(*arguments: str | Path, cwd: Path, **changes: str) -> Any:
    assert SCRIPT.is_file(), "install typednn: `make setup`"
    command = [str(SCRIPT), *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=environment(**changes), capture_output=True, text=True, check=False, timeout=120
    )


def _refused(done: Any, *parts: str) -> None:
    assert done.returncode == 1, done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    for part in parts:
        assert part in done.stderr


@pytest.fixture
def place(tmp_path: Path, files: Path, trained: tuple[Path, Any]) -> Path:
    """A folder with a config, tables, a row to ask about, a run, a folder that is none, and layers of a user."""
    for name in ("model.toml", "train.csv", "test.csv"):
        shutil.copy(files / name, tmp_path)
    (tmp_path / "rows.csv").write_text("2.1,0.1,-0.2,1.1\n", encoding="utf-8")
    (tmp_path / "sizes.py").write_text(
        "from typednn.layers import Linear\n\nmodel = Linear(4, 3) >> Linear(3, 2)\n", encoding="utf-8"
    )
    shutil.copytree(trained[0], tmp_path / "run")
    (tmp_path / "empty").mkdir()
    Characters("abc").save(tmp_path / "language")
    save_gpt2(GPT2(3, 4, 4, 1, 1, rng=np.random.default_rng(0)), tmp_path / "language")
    (tmp_path / "my_layers.py").write_text(LAYERS, encoding="utf-8")
    own = (tmp_path / "model.toml").read_text(encoding="utf-8").replace('"ReLU"', '"Swish"')
    (tmp_path / "own.toml").write_text(own, encoding="utf-8")
    return tmp_path


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Script:
    """A command within this process, which starts sooner; what it does to Python's path is undone."""
    monkeypatch.setattr(sys, "path", [*sys.path])

    def run(*arguments: str | Path, cwd: Path) -> Any:
        monkeypatch.chdir(cwd)
        capfd.readouterr()
        code = main([str(argument) for argument in arguments])
        said = capfd.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    return run


TABLES = ("train.csv", "test.csv")
STARTED: dict[str, tuple[list[str], str]] = {
    "new": (["mine"], "mine/model.toml"),
    "completion": (["bash"], "complete -o"),
    "train": (["model.toml", *TABLES, "--epochs", "1", "-q"], "test accuracy"),
    "resume": (["run", "-q"], "test accuracy"),
    "eval": (["run"], "accuracy"),
    "predict": (["run", "rows.csv"], "rows.csv[0]  0"),
    "generate": (["language", "--prompt", "abc", "--max-tokens", "6"], "abc"),
    "export": (["run", "--to", "npz"], "run.npz"),
    "tokens": (["encode", "--tokenizer", "language", "cab"], "[2, 0, 1]"),
    "summary": (["mlp"], "optimizer.lr"),
    "check": (["model.toml"], "Linear(8, 3)"),
    "lsp": ([], ""),  # standard input is empty: no editor is there
    "gradcheck": (["Linear(4, 2)"], "every derivative agrees"),
    "info": ([], "typednn"),
    "runs": (["."], "run "),
    "report": (["run"], "report.html"),
}


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "serve"])  # a signal ends it: tests/serving
def test_every_command(place: Path, command: str) -> None:
    arguments, said = STARTED[command]
    done = _script(command, *arguments, cwd=place)
    assert done.returncode == 0, done.stdout + done.stderr
    assert said in done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself(tmp_path: Path, command: str) -> None:
    done = _script(command, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"usage: typednn {command} ")


def test_the_examples_of_the_help_are_understood() -> None:
    """Each line that the help shows is one that the command takes."""
    shown = [parser.parser().format_help(), *(command.examples for command in COMMANDS.values())]
    lines = [line for text in shown for line in re.findall(r"^  typednn (\S.*?)(?:  +.*)?$", text, re.MULTILINE)]
    lines = [line for line in lines if "COMMAND" not in line]
    assert {line.split()[0] for line in lines} == set(COMMANDS) - {"info"}
    lines = [line.partition(" > ")[0] for line in lines]
    for line in lines:
        parser.parser().parse_args(shlex.split(line))


# ---------------------------------------------------------------------------------------------------- layers of a user


def test_layers_of_a_user_lie_in_the_current_folder(place: Path) -> None:
    """The run remembers which module registers them, and is used where the user says so: its folder decides nothing
    that is executed.
    """
    told = ["--import", "my_layers"]
    trained = _script("train", "own.toml", *TABLES, *told, "--epochs", "2", "--run", "own", "-q", cwd=place)
    assert trained.returncode == 0, trained.stderr
    for arguments in (
        ["predict", "own", "rows.csv", *told],
        ["eval", "own", *told],
        ["resume", "own", "-q", *told],
        ["export", "own", "--to", "npz", *told],
        ["summary", "own", *told],
        ["report", "own"],
        ["summary", "own.toml", *told],
        ["check", "own.toml", *told],
        ["gradcheck", "Swish(beta=2.0)", *told],
    ):
        done = _script(*arguments, cwd=place)
        assert done.returncode == 0, f"{arguments}: {done.stderr}"
    (place / "my_layers.py").write_text("raise SystemExit('it was run')\n", encoding="utf-8")
    cure = "if you trust that code, add --import my_layers; in Python, import it before"
    for arguments in (["predict", "own", "rows.csv"], ["resume", "own"]):
        rule = "own/recipe.json: a run imports no code by itself, got layers of my_layers, not imported"
        _refused(_script(*arguments, cwd=place), f"{rule}; {cure}")


def test_a_run_whose_layers_are_elsewhere(place: Path) -> None:
    done = _script(
        "train", "own.toml", *TABLES, "--import", "my_layers", "--epochs", "1", "--run", "own", "-q", cwd=place
    )
    assert done.returncode == 0, done.stderr
    cure = "start in the folder that holds it, or name that folder in PYTHONPATH"
    use = ("predict", "../own", "../rows.csv", "--import", "my_layers")
    _refused(_script(*use, cwd=place / "empty"), f"import my_layers: No module named 'my_layers'; {cure}")
    found = _script(*use, cwd=place / "empty", PYTHONPATH=f"{REPOSITORY}:{place}")
    assert found.returncode == 0, found.stderr


def test_the_current_folder_hides_nothing_that_is_installed(place: Path) -> None:
    (place / "safetensors.py").write_text("raise SystemExit('mine')\n", encoding="utf-8")
    (place / "csv.py").write_text("raise SystemExit('mine')\n", encoding="utf-8")
    done = _script("predict", "run", "rows.csv", cwd=place)
    assert done.returncode == 0, done.stderr


def test_a_safe_path_stays_safe(place: Path) -> None:
    done = _script("check", "own.toml", "--import", "my_layers", cwd=place, PYTHONSAFEPATH="1")
    _refused(done, "import my_layers: No module named 'my_layers'")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("import nowhere_at_all\n", "import broken: No module named 'nowhere_at_all'\n"),
        ("x = = 1\n", "import broken: SyntaxError: invalid syntax (broken.py, line 1)"),
        ("print(undefined)\n", "import broken: NameError: name 'undefined' is not defined"),
        ("raise RuntimeError('not today')\n", "import broken: RuntimeError: not today"),
    ],
)
def test_a_module_that_cannot_be_imported(place: Path, text: str, told: str) -> None:
    (place / "broken.py").write_text(text, encoding="utf-8")
    for arguments in (["summary", "own.toml"], ["summary", "mlp"]):
        _refused(_script(*arguments, "--import", "broken", cwd=place), told)


# ---------------------------------------------------------------------------------------------------- folders


@pytest.mark.parametrize(
    ("run", "cwd", "back"), [(".", "run", "../"), ("run/", ".", ""), ("./run//", ".", ""), ("../run", "empty", "../")]
)
@pytest.mark.parametrize("command", ["resume", "eval", "predict", "report"])
def test_a_run_by_any_path(here: Script, place: Path, command: str, run: str, cwd: str, back: str) -> None:
    more = {"predict": [f"{back}rows.csv"], "resume": ["-q"]}.get(command, [])
    done = here(command, run, *more, cwd=place / cwd)
    assert done.returncode == 0, done.stderr
    if command == "report":
        page = (place / cwd / done.stdout.strip()).read_text(encoding="utf-8")
        assert "<title>run · typednn</title>" in page
        assert "test accuracy" in page
        assert "Left out" not in page


@pytest.mark.parametrize("run", [".", "./", "", "run/recipe.json", "nowhere", "nowhere/", "run/checkpoints"])
@pytest.mark.parametrize("command", ["resume", "eval", "predict", "report"])
def test_what_is_no_run(here: Script, place: Path, command: str, run: str) -> None:
    """One sentence with the folder's name, and nothing is written."""
    before = {path.relative_to(place) for path in place.rglob("*")}
    cwd = place / "empty" if run.startswith(".") else place
    done = here(command, run, *(["rows.csv"] if command == "predict" else []), cwd=cwd)
    rule = "run folder" if command != "report" else "needs the folder of a run"
    _refused(
        done, *([str(Path(run)), rule] if run or command != "report" else ["must be the name of a file or folder"])
    )
    assert len(done.stderr.splitlines()) == 1
    assert {path.relative_to(place) for path in place.rglob("*")} == before


@pytest.mark.parametrize("run", [".", "./", "", "run", "run/", "rows.csv", "rows.csv/inside"])
def test_a_new_run_where_something_is(here: Script, place: Path, run: str) -> None:
    before = {path.relative_to(place) for path in place.rglob("*")}
    _refused(here("train", "model.toml", *TABLES, "--epochs", "1", "--run", run, "-q", cwd=place), str(Path(run)))
    assert {path.relative_to(place) for path in place.rglob("*")} == before


def test_a_new_run_in_the_current_folder(here: Script, place: Path) -> None:
    tables: Sequence[str] = [f"../{name}" for name in ("model.toml", *TABLES)]
    done = here("train", *tables, "--epochs", "1", "--run", ".", "-q", cwd=place / "empty")
    assert done.returncode == 0, done.stderr
    assert here("predict", ".", "../rows.csv", cwd=place / "empty").returncode == 0


@pytest.mark.parametrize("command", ["train", "summary", "gradcheck"])
@pytest.mark.parametrize("given", [".", "run/", "run", "", "sizes.py/"])
def test_what_is_no_recipe(here: Script, place: Path, command: str, given: str) -> None:
    if command == "summary" and given.startswith("run"):
        pytest.skip("summary takes a run")
    done = here(command, given, cwd=place)
    assert done.returncode == 1, done.stdout
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("data", [".", "./", "", "empty/", "run", "rows.csv", "mnist/"])
def test_what_is_no_data(here: Script, place: Path, data: str) -> None:
    _refused(here("train", "model.toml", "--data", data, cwd=place), data.rstrip("/") or ".")
    assert not (place / "runs").exists()
    if data != "rows.csv":
        _refused(here("eval", "run", "--data", data, cwd=place), data.rstrip("/") or ".")
