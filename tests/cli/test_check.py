"""typednn check: what the mypy plugin finds in Python, for people who have no mypy set-up of their own."""

import json
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from typednn.cli import main
from typednn.errors import StackError

REPOSITORY = Path(__file__).resolve().parents[2]

Done: TypeAlias = "subprocess.CompletedProcess[str]"
Check: TypeAlias = Callable[..., Done]

# The second pool leaves 5*5*16 features, which a reader of the first lines would take for 4*4*16.
LENET = """\
from typednn import Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, Pad2d, ReLU

body = Input(28, 28, 1) >> Pad2d(2) >> Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2) \
>> Conv2d(6, 16, 5) >> ReLU() >> MaxPool2d(2)
model = body >> Flatten() >> Linear(400, 120) >> ReLU() >> Linear(120, 84) >> ReLU() >> Linear(84, 10)
"""
WRONG = LENET.replace("Linear(400, 120)", "Linear(256, 120)")
COLUMN = WRONG.splitlines()[4].index("Linear(256") + 1
SAID = "Linear(256, 120) cannot follow Flatten: expects 256 features, gets 400 (= 5*5*16, from MaxPool2d on 10x10x16)"


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def check(tmp_path: Path, cache: Path) -> Check:
    """``check(*targets)`` in ``tmp_path``, or in the folder ``cwd``; mypy reads NumPy's types once for all tests."""

    def run(*arguments: str | Path, cwd: Path = tmp_path, **changes: str) -> Done:
        shared = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY), "MYPY_CACHE_DIR": str(cache)}
        environment = {name: value for name, value in {**os.environ, **shared, **changes}.items() if value}
        command = [sys.executable, "-W", "error", "-m", "typednn", "check", *map(str, arguments)]
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=300
        )

    return run


@pytest.fixture
def put(tmp_path: Path) -> Callable[..., Path]:
    """``put("a/b.py", text)`` writes a file, and the folders that it needs."""

    def write(name: str, text: str = "") -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    return write


Put: TypeAlias = Callable[..., Path]


def found(path: str, line: int = 5) -> str:
    return f"{path}:{line}: error: {SAID}  [shape]\n"


def found_through_import(done: Done, path: str) -> bool:
    """Whether the mistake was found, and nothing else; where the sizes came from may be told in fewer words than within
    one file.
    """
    told = SAID.partition(" (=")[0]
    return bool(
        re.fullmatch(rf"{re.escape(f'{path}:5: error: {told}')} .*  \[shape\]\n1 finding in 1 file\n", done.stdout)
    )


# ---------------------------------------------------------------------------------------------------- verdicts


def test_definition_time_says_the_same() -> None:
    with pytest.raises(StackError) as refused:
        exec(WRONG, {})
    assert str(refused.value) == SAID


def test_a_wrong_size(check: Check, put: Put) -> None:
    put("lenet.py", WRONG)
    done = check("lenet.py")
    assert (done.returncode, done.stdout, done.stderr) == (1, found("lenet.py") + "1 finding in 1 file\n", "")


def test_nothing_to_find(check: Check, put: Put) -> None:
    put("lenet.py", LENET)
    done = check("lenet.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no size mistakes found in 1 file\n", "")


def test_json(check: Check, put: Put) -> None:
    put("lenet.py", WRONG)
    put("broken.py", "def f(:\n")
    done = check("lenet.py", "broken.py", "--json")
    assert done.returncode == 1
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"path": "lenet.py", "line": 5, "column": COLUMN, "message": SAID, "code": "shape"},
        {"path": "broken.py", "line": 1, "column": 7, "message": "invalid syntax", "code": "syntax"},
    ]
    put("lenet.py", LENET)
    assert check("lenet.py", "--json").stdout == ""


def test_what_else_mypy_says_is_left_to_mypy(check: Check, put: Put) -> None:
    put("other.py", 'x: int = "a"\nimport nowhere_at_all\nfrom typednn.layers import Linear\nLinear("a")\n')
    done = check("other.py")
    assert (done.returncode, done.stdout, done.stderr) == (0, "no size mistakes found in 1 file\n", "")


def test_functions_without_annotations(check: Check, put: Put) -> None:
    """mypy alone would skip them."""
    body = "".join(f"    {line}\n" for line in WRONG.splitlines()[3:])
    put("lenet.py", "\n".join(WRONG.splitlines()[:2]) + "\n\ndef build():\n" + body + "    return model\n")
    assert check("lenet.py").stdout == found("lenet.py", 6) + "1 finding in 1 file\n"


def test_a_variable_that_changes_its_type(check: Check, put: Put) -> None:
    """The sizes of a name's first value are not held against its second, although mypy's complaint about the change is
    not shown.
    """
    head = (
        "from typednn import Input\nfrom typednn.layers import Linear\n\nmodel = Input(4) >> Linear(4, 8)\nmodel = "
        "model >> Linear(8, 3)\n"
    )
    put("fits.py", head + "model = model >> Linear(3, 2)\n")
    put("wrong.py", head + "model = model >> Linear(8, 2)\n")
    assert check("fits.py").stdout == "no size mistakes found in 1 file\n"
    said = "Linear(8, 2) cannot follow Linear(8, 3): expects 8 features, gets 3"
    assert check("wrong.py").stdout == f"wrong.py:6: error: {said}  [shape]\n1 finding in 1 file\n"


def test_ignored_where_the_code_says_so(check: Check, put: Put) -> None:
    lines = WRONG.splitlines()
    lines[4] += "  # type: ignore[shape]"
    put("known.py", "\n".join(lines) + "\n")
    lines[4] = lines[4].replace("[shape]", "[arg-type]")
    put("not_this.py", "\n".join(lines) + "\n")
    assert check("known.py").returncode == 0
    first, note, last = check("not_this.py").stdout.splitlines(keepends=True)
    assert first + last == found("not_this.py") + "1 finding in 1 file\n"
    assert note.startswith('not_this.py:5: note: Error code "shape" not covered by "type: ignore')


def test_nothing_is_run(check: Check, put: Put, tmp_path: Path) -> None:
    put("pack/__init__.py", "open('ran', 'w').close()\n")
    put("pack/lenet.py", "open('ran', 'w').close()\n" + WRONG)
    assert check("pack.lenet").stdout.startswith(found("pack/lenet.py", 6))
    assert not (tmp_path / "ran").exists()


# ------------------------------------------------------------------------------------------------- formats and watching


def test_formats(check: Check, put: Put) -> None:
    put("lenet.py", WRONG)
    put("bad.toml", "format = 1\n")
    place = (
        f"file=lenet.py,line=5,col={COLUMN},endLine=5,endColumn={COLUMN + len('Linear(256, 120)')},title=typednn shape"
    )
    assert check("lenet.py", "--format", "github").stdout == f"::error {place}::{SAID}\n"
    done = check("lenet.py", "bad.toml", "--format", "sarif")
    assert (done.returncode, done.stderr) == (1, "")
    assert [result["ruleId"] for result in json.loads(done.stdout)["runs"][0]["results"]] == ["config", "shape"]
    assert check("lenet.py", "--format", "json").stdout == check("lenet.py", "--json").stdout
    assert check("lenet.py", "--format", "xml").returncode == 2


def test_coverage_and_watching_are_not_for_every_format(check: Check, put: Put) -> None:
    put("lenet.py", LENET)
    said = check("lenet.py", "--coverage", "--format", "sarif").stderr
    assert said == "typednn check: --coverage: writes text or JSON, once, got --format sarif\n"
    said = check("lenet.py", "--watch", "--format", "sarif").stderr
    assert (
        said == "typednn check: --watch: writes text, JSON or GitHub's annotations, got --format sarif, one document\n"
    )


BODIES = """\
from typing import Any

from jaxtyping import Float
from typednn import Array2


def scaled(x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 4"]:
    y = 2 * x
    return y + x


def through_any(x: Float[Array2, "batch 4"], helper: Any) -> Float[Array2, "batch 4"]:
    return x + helper(x)


def wrong(x: Float[Array2, "batch 4"], y: Float[Array2, "batch 3"]) -> Float[Array2, "batch 4"]:
    return x + y
"""


def test_coverage(check: Check, put: Put) -> None:
    """What is computed of an array and has the type Any is a loss; what is wrong is not proven."""
    put("bodies.py", BODIES)
    done = check("bodies.py", "--coverage")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "bodies.py:17: error: (batch, 4) and (batch, 3) do not fit together: axis 1 is 4 and 3  [shape]",
        "bodies.py:7: scaled: proven",
        "bodies.py:12: through_any: unknown",
        "  bodies.py:13: the sizes of helper(x) are not known",
        "bodies.py:16: wrong: unknown",
        "  bodies.py:17: the sizes of x + y are not known",
        "3 functions: 1 proven, 0 partly, 2 unknown; 33 % proven",
    ]


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is a signal elsewhere")
def test_watching(put: Put, tmp_path: Path) -> None:
    """Mistakes come and go with the file, its imports and its syntax; Ctrl-C ends it without a word."""
    lines = LENET.splitlines()

    def replace(name: str, text: str) -> None:
        """All at once: a check that meets half a file is followed by another."""
        put(f"{name}.new", text)
        (tmp_path / f"{name}.new").replace(tmp_path / name)

    put("body.py", "\n".join(lines[:4]) + "\n")
    text = "\n".join([*lines[:2], "from body import body", "", *lines[4:]]) + "\n"
    put("lenet.py", text)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-W", "error", "-m", "typednn", "check", "lenet.py", "--watch"]
    pipes: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **pipes) as process, ExitStack() as at_end:
        assert process.stdout is not None
        assert process.stderr is not None
        at_end.callback(process.kill)  # also when the test fails

        def said() -> str:
            assert process.stdout is not None
            told = ""
            while not told.endswith(" in 1 file\n"):
                line = process.stdout.readline()
                assert line, "it has ended"
                told += line
            return told

        assert said() == "no size mistakes found in 1 file\n"
        replace("lenet.py", text.replace("Linear(400", "Linear(256"))
        assert "Linear(256, 120) cannot follow" in said()
        replace("lenet.py", text + "def f(:\n")
        assert "invalid syntax  [syntax]" in said()
        replace("lenet.py", text)
        assert said() == "no size mistakes found in 1 file\n"
        replace("body.py", "\n".join(lines[:4]).replace("Conv2d(6, 16, 5)", "Conv2d(6, 8, 5)") + "\n")
        assert "gets 200" in said()
        replace("pyproject.toml", "[tool.mypy\n")
        replace("lenet.py", text + "\n")
        line = process.stderr.readline()
        assert line.startswith("typednn check: pyproject.toml: cannot be read for mypy's settings"), line
        (tmp_path / "pyproject.toml").unlink()
        replace("lenet.py", text)
        assert "gets 200" in said()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert (process.stdout.read(), process.stderr.read()) == ("", "")


def test_watching_a_folder_on_pythons_path(put: Put, tmp_path: Path) -> None:
    """The first edit is checked, and each after it: by the installed script, of a target with its whole path, beside
    PYTHONPATH.
    """
    put("src/lenet.py", LENET)
    command = [Path(sys.executable).with_name("typednn"), "check", tmp_path / "src", "--watch"]
    path = os.pathsep.join([str(REPOSITORY), str(tmp_path / "src")])
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": path}
    with (
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as at_end,
    ):
        assert process.stdout is not None
        at_end.callback(process.kill)
        assert process.stdout.readline() == "no size mistakes found in 1 file\n"
        for line in (5, 6):
            put("src/new", "\n" * (line - 5) + WRONG).replace(tmp_path / "src" / "lenet.py")
            assert process.stdout.readline() == found(str(tmp_path / "src" / "lenet.py"), line)
            assert process.stdout.readline() == "1 finding in 1 file\n"


def test_an_installed_package_is_not_watched(check: Check, put: Put) -> None:
    put("lib/site-packages/pack.py", WRONG)
    assert check("lib/site-packages/pack.py").returncode == 1
    file = "lib/site-packages/pack.py"
    watched = check(file, "--watch")
    said = f"typednn check: --watch: watches files that you write, got {file}, of an installed package; check it once\n"
    assert (watched.returncode, watched.stdout, watched.stderr) == (1, "", said)


def test_without_pygls(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "pygls", None)
    assert main(["lsp"]) == 1
    needs = "typednn lsp: lsp: needs pygls and mypy, got no module named 'pygls'; pip install 'typednn[lsp]'\n"
    assert capsys.readouterr() == ("", needs)


# ---------------------------------------------------------------------------------------------------- targets


def test_package_folder_and_module(check: Check, put: Put) -> None:
    for name in ("pack/__init__.py", "pack/models/__init__.py"):
        put(name)
    put("pack/models/lenet.py", WRONG)
    put("pack/other.py", LENET)
    line = found("pack/models/lenet.py")
    assert check("pack").stdout == line + "1 finding in 1 file\n"
    assert check("pack/models/").stdout == line + "1 finding in 1 file\n"
    assert check("pack.models").stdout == line + "1 finding in 1 file\n"
    assert check("pack.models.lenet").stdout == line + "1 finding in 1 file\n"
    assert check("pack.other").stdout == "no size mistakes found in 1 file\n"
    assert check("pack.other", "pack", "pack/other.py").stdout == line + "1 finding in 1 file\n"


def test_only_the_targets_are_reported(check: Check, put: Put) -> None:
    put("wrong.py", WRONG)
    put("user.py", "import wrong\n\nprint(wrong.model)\n")
    done = check("user.py")
    assert (done.returncode, done.stdout) == (0, "no size mistakes found in 1 file\n")


def test_sizes_come_from_imported_files(check: Check, put: Put) -> None:
    lines = WRONG.splitlines()
    put("body.py", "\n".join(lines[:4]) + "\n")
    put("lenet.py", "\n".join([*lines[:2], "from body import body", "", *lines[4:]]) + "\n")
    assert found_through_import(check("lenet.py"), "lenet.py")


def test_a_folder_of_files_that_know_each_other_by_its_name(check: Check, put: Put) -> None:
    """A package without ``__init__.py``: mypy alone refuses it."""
    put("pack/lenet.py", WRONG)
    put("pack/user.py", "from pack.lenet import model\n")
    done = check("pack")
    assert (done.returncode, done.stdout) == (1, found("pack/lenet.py") + "1 finding in 1 file\n"), done.stderr


def test_files_of_one_name(check: Check, put: Put) -> None:
    """In folders without ``__init__.py``; the same text, too: mypy would speak of the first."""
    put("one/train.py", WRONG)
    put("two/train.py", WRONG)
    assert check(".").stdout == found("one/train.py") + found("two/train.py") + "2 findings in 2 files\n"
    assert check("two").stdout == found("two/train.py") + "1 finding in 1 file\n"


def test_a_package_that_was_moved(check: Check, put: Put, tmp_path: Path) -> None:
    put("pack/__init__.py")
    put("pack/lenet.py", WRONG)
    assert check("pack").stdout.startswith(found("pack/lenet.py"))
    (tmp_path / "src").mkdir()
    (tmp_path / "pack").rename(tmp_path / "src" / "pack")
    assert check("src").stdout.startswith(found("src/pack/lenet.py"))


def test_from_another_folder(check: Check, put: Put, tmp_path: Path) -> None:
    path = put("code/lenet.py", WRONG)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert check(path, cwd=elsewhere).stdout.startswith(found(str(path)))
    assert check("../code/lenet.py", cwd=elsewhere).stdout.startswith(found("../code/lenet.py"))
    assert check("lenet.py", cwd=path.parent).stdout.startswith(found("lenet.py"))


def test_configs_beside_python(check: Check, put: Put, files: Path) -> None:
    put("lenet.py", WRONG)
    put("bad.toml", (files / "model.toml").read_text(encoding="utf-8").replace("ReLU", "ReLv"))
    good = check(files / "model.toml", "lenet.py")
    assert good.returncode == 1
    assert good.stdout.startswith("       Stack\n  fc1  Linear(4, 8)")
    assert good.stdout.endswith(found("lenet.py") + "1 finding in 1 file\n")
    both = check("bad.toml", "lenet.py")
    assert both.returncode == 1
    assert both.stderr.startswith("typednn check: bad.toml:11:8: layer 1: unknown type")
    assert both.stdout == found("lenet.py") + "1 finding in 1 file\n"
    (one, _) = map(json.loads, check("bad.toml", "lenet.py", "--json").stdout.splitlines())
    message = one.pop("message")
    assert one == {"path": "bad.toml", "line": 11, "column": 8, "code": "config"}
    cure = "did you mean 'ReLU'? --import MODULE registers a layer of your own"
    assert message == f'layer 1: unknown type "ReLv"; {cure}'


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("lenet5.py", "lenet5.py: expects a config, a Python file, a folder or a module, got nothing of that name"),
        (
            "src/lenet5.py",
            "src/lenet5.py: expects a config, a Python file, a folder or a module, got nothing of that name",
        ),
        (
            "notes.ipynb",
            "notes.ipynb: expects Python source, got a notebook; write its cells out first: jupyter nbconvert "
            "--to script notes.ipynb",
        ),
        ("empty", "empty: expects a folder with Python files, got none; mypy's setting exclude counts here too"),
        (
            "pack.lenet",
            "pack.lenet: expects a config, a Python file, a folder or a module, got nothing of that name; "
            "modules are looked for here, in mypy_path and where Python imports from",
        ),
        ("sys", "sys: expects a module that is written in Python, got built-in"),
        ("model.toml", "model.toml: must be a readable file, got No such file or directory"),
    ],
)
def test_refused_in_one_line(
    target: str,
    message: str,
    put: Put,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put("notes.ipynb", "{}")
    (tmp_path / "empty").mkdir()
    put("lenet.py", LENET)
    monkeypatch.chdir(tmp_path)
    assert main(["check", "lenet.py", target] if target != "model.toml" else ["check", target]) == 1
    assert capsys.readouterr() == ("", f"typednn check: {message}\n")


def test_a_command_that_is_not_understood(check: Check) -> None:
    assert check().returncode == 2
    assert check("--strict", "a.py").returncode == 2


# ------------------------------------------------------------------------------------------ files that cannot be parsed


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (b"x = 1\ndef f(:\n", 2, "invalid syntax"),
        (b"def f():\npass\n", 2, "expected an indented block after function definition on line 1"),
        (b"x = '\xff'\n", 1, r"(invalid or missing encoding declaration|.*can't decode byte 0xff).*"),
        (b"x = '\0'\n", 1, "source code (string|cannot) .*null bytes"),
    ],
)
def test_what_cannot_be_parsed_is_no_pass(check: Check, tmp_path: Path, text: bytes, line: int, message: str) -> None:
    (tmp_path / "broken.py").write_bytes(text)
    done = check("broken.py")
    assert done.returncode == 1
    assert re.fullmatch(rf"broken\.py:{line}: error: {message}  \[syntax\]\n1 finding in 1 file\n", done.stdout), (
        done.stdout
    )


def test_the_others_are_checked_all_the_same(check: Check, put: Put) -> None:
    put("broken.py", "def f(:\n")
    put("lenet.py", f"{WRONG}import broken\n")
    line = found("lenet.py")
    assert (
        check("broken.py", "lenet.py").stdout
        == f"broken.py:1: error: invalid syntax  [syntax]\n{line}2 findings in 2 files\n"
    )
    imported = check("lenet.py")
    assert imported.stdout.startswith(f"{line}broken.py:1: error: ")
    assert imported.stdout.endswith(" in 2 files\n")


def test_what_stops_mypy_is_no_pass(check: Check, put: Put) -> None:
    put("not-a-name/__init__.py")
    put("not-a-name/lenet.py", WRONG)
    done = check("not-a-name/lenet.py")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("typednn check: mypy stopped before the end:\n")
    assert "not-a-name" in done.stderr


@pytest.mark.parametrize("name", ["numpy.py", "typednn/__init__.py", "jaxtyping.pyi"])
def test_what_hides_a_package_is_no_pass(check: Check, put: Put, name: str) -> None:
    """mypy would read that file, and know no size. So does Python where the current folder is first on its path, which
    it is not here.
    """
    put(name)
    put("lenet.py", f"\n{WRONG}")
    package = re.split(r"\W", name)[0]
    done = check("lenet.py", PYTHONSAFEPATH="1")
    said = f"no size can be checked: {name} hides the package {package}; rename it  [hidden]"
    assert (done.returncode, done.stdout) == (1, f"lenet.py:2: error: {said}\n1 finding in 1 file\n")


def test_a_warning_of_the_compiler_is_no_finding(check: Check, put: Put) -> None:
    put("fine.py", 'pattern = "\\d"\n')
    done = check("fine.py")
    assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------------------------------------------- mypy itself


CRASHING = """\
import sys
from typednn import mypy_plugin
from typednn.cli import main

def failing(self, fullname):
    raise RuntimeError("on purpose")

mypy_plugin.TypednnPlugin.get_method_hook = failing
sys.exit(main(["check", "lenet.py"]))
"""


def test_a_crash_of_mypy(put: Put, tmp_path: Path, cache: Path) -> None:
    """One message that says what to do, with the exit code of a failure; all that mypy printed is in a file."""
    put("lenet.py", f"{WRONG}# which no other test has checked: mypy keeps what it has found in a text\n")
    shared = {
        "OPENBLAS_NUM_THREADS": "1",
        "PYTHONPATH": str(REPOSITORY),
        "MYPY_CACHE_DIR": str(cache),
        "TMPDIR": str(tmp_path),
    }
    command = [sys.executable, "-c", CRASHING]
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **shared}, capture_output=True, text=True, check=False, timeout=300
    )
    assert (done.returncode, done.stdout) == (1, "")
    rule = "mypy: reads every program to its end; this is a fault of mypy or of typednn's plugin, not of yours, got "
    cure = "; nothing was checked; please report it, with this file and the program: "
    told = re.fullmatch(
        rf"typednn check: {re.escape(rule)}RuntimeError: on purpose, at .*{re.escape(cure)}(\S+)\n", done.stderr
    )
    assert told, done.stderr
    assert "RuntimeError: on purpose" in Path(told[1]).read_text(encoding="utf-8")


def test_without_mypy(
    put: Put, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], files: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "mypy", None)
    monkeypatch.delitem(sys.modules, "mypy.api", raising=False)
    put("lenet.py", LENET)
    assert main(["check", "lenet.py"]) == 1
    needs = (
        "typednn check: lenet.py: needs mypy to check Python, got no module named 'mypy'; pip install 'typednn[mypy]'\n"
    )
    assert capsys.readouterr() == ("", needs)
    assert main(["check", str(files / "model.toml")]) == 0, "configs need no mypy"


# A plugin that cannot be loaded, and strictness: neither is ours to follow.
SETTINGS = {
    "pyproject.toml": """\
[tool.mypy]
strict = true
plugins = ["no_such_plugin"]
mypy_path = ["$MYPY_CONFIG_FILE_DIR/lib"]
exclude = ["^old/", "_wip\\\\.py$"]
""",
    "mypy.ini": "[mypy]\nstrict = True\nplugins = no_such_plugin\nmypy_path = stubs:lib\nexclude = (?x)(^old/ | "
    "_wip\\.py$)\n",
}


@pytest.mark.parametrize("name", SETTINGS)
def test_modules_are_found_as_the_users_mypy_finds_them(check: Check, put: Put, name: str) -> None:
    put(name, SETTINGS[name])
    lines = WRONG.splitlines()
    put("lib/shared/__init__.py")
    put("lib/shared/body.py", "\n".join(lines[:4]) + "\n")
    put("src/lenet.py", "\n".join([*lines[:2], "from shared.body import body", "", *lines[4:]]) + "\n")
    put("src/lenet_wip.py", WRONG)
    put("old/lenet.py", WRONG)
    done = check(".")
    assert found_through_import(done, "src/lenet.py"), done.stdout + done.stderr
    assert found_through_import(check("src/lenet.py"), "src/lenet.py")
    assert check("shared.body").stdout == "no size mistakes found in 1 file\n"
    assert check("old/lenet.py").stdout.startswith(found("old/lenet.py")), "exclude is about folders"


def test_settings_of_a_folder_above(check: Check, put: Put, tmp_path: Path) -> None:
    put("setup.cfg", "[mypy]\nexclude = skipped\n")
    put("part/skipped.py", WRONG)
    put("part/lenet.py", LENET)
    assert check(".", cwd=tmp_path / "part").stdout == "no size mistakes found in 1 file\n"
    (tmp_path / "part" / ".git").mkdir()
    assert check(".", cwd=tmp_path / "part").returncode == 1, "not from outside of the repository"


def test_explicit_package_bases(check: Check, put: Put) -> None:
    put("pyproject.toml", '[tool.mypy]\nexplicit_package_bases = true\nmypy_path = "src"\n')
    lines = WRONG.splitlines()
    put("src/space/body.py", "\n".join(lines[:4]) + "\n")
    put("src/space/lenet.py", "\n".join([*lines[:2], "from .body import body", "", *lines[4:]]) + "\n")
    put("src/other/lenet.py", LENET)
    assert found_through_import(check("src"), "src/space/lenet.py")


def test_settings_that_cannot_be_read(check: Check, put: Put, files: Path) -> None:
    put("pyproject.toml", "[tool.mypy\n")
    put("lenet.py", LENET)
    done = check("lenet.py")
    assert done.returncode == 1
    assert done.stderr.startswith("typednn check: pyproject.toml: cannot be read for mypy's settings: ")
    assert check(files / "model.toml").returncode == 0, "they are nothing to a config"
    put("pyproject.toml", '[tool.mypy]\nexclude = "("\n')
    pattern = check(".")
    assert pattern.returncode == 1
    assert pattern.stderr.startswith("typednn check: mypy's setting exclude: expects regular expressions, got '('; ")


def test_cache_lies_beside_mypys(check: Check, put: Put, tmp_path: Path) -> None:
    put("lenet.py", "import this\n")
    assert check("lenet.py", MYPY_CACHE_DIR="").returncode == 0
    assert [path.name for path in (tmp_path / ".mypy_cache").iterdir()] == ["typednn"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".mypy_cache", "lenet.py"]


def test_a_cache_that_cannot_be_written(check: Check, put: Put) -> None:
    put("lenet.py", "import this\n")
    done = check("lenet.py", MYPY_CACHE_DIR=str(put("a file")))
    assert (done.returncode, done.stderr) == (0, "")


# ---------------------------------------------------------------------------------------------------- pre-commit


def _hooks() -> list[dict[str, Any]]:
    """The part of YAML that the file uses: a list of tables, each value a plain string, or a list in brackets."""
    hooks = list[dict[str, Any]]()
    for line in (REPOSITORY / ".pre-commit-hooks.yaml").read_text(encoding="utf-8").splitlines():
        if not line.lstrip().startswith("#"):
            first, key, value = re.fullmatch(r"(- |  )([a-z_]+): (\S.*)", line).groups()  # type: ignore[union-attr]
            if first == "- ":
                hooks.append({})
            assert key not in hooks[-1]
            hooks[-1][key] = [part.strip(' "') for part in value[1:-1].split(",")] if value[0] == "[" else value
    return hooks


def test_hook_for_pre_commit(put: Put, check: Check) -> None:
    (hook,) = _hooks()
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert hook["id"] == "typednn-check"
    assert hook["language"] == "python"
    assert hook["require_serial"] == "true"
    assert hook["additional_dependencies"] == project["optional-dependencies"]["mypy"], "pre-commit installs no extras"
    command, *arguments = hook["entry"].split()
    assert command in project["scripts"]
    assert arguments == ["check"]
    assert [name for name in ("a.py", "b/c.py", "a.pyi", "script", "model.toml") if re.search(hook["files"], name)] == [
        "a.py",
        "b/c.py",
    ]
