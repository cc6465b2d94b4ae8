"""Small programs as people write them: the correct ones run, and each faulty one fails where it says it does.

`corpus/correct` and `corpus/faulty` hold a program each per file or, as a package, per folder. In a faulty one the line
that is wrong ends in ``# shape: words``: the words are those of the message. Plain mypy, strict, sees none of these
mistakes; what it does see, a wrong rank, ends in ``# mypy: code``. Where the plugin says it instead, the line ends in
both.

What mypy with the plugin prints is kept, program by program, in `messages`, to be read as a user would; with
TYPEDNN_RECORD=1 in the environment the test writes it anew.

Where NumPy says no before typednn does, or nothing at all happens, the docstring says so: "NumPy refuses it",
"runs all the same".
"""

import fcntl
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from pathlib import Path

import pytest

from typednn import errors

CORPUS = Path(__file__).parent / "corpus"
MESSAGES = CORPUS.parent / "messages"
ROOT = CORPUS.parent.parent.parent
KINDS = ("correct", "faulty")
READS_312 = sys.version_info >= (3, 12)

# Runs the programs named on the command line, one after another, in the folder it was started in; prints what became of
# each.
RUNNER = """
import contextlib, io, json, runpy, sys, traceback
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, "")
outcomes = {}
for name in sys.argv[1:]:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            runpy.run_module(name, run_name="__main__")
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        frames = [frame for frame in frames if Path(frame.filename).is_relative_to(Path.cwd())]
        lines = [[Path(frame.filename).relative_to(Path.cwd()).as_posix(), frame.lineno] for frame in frames]
        outcomes[name] = {"type": type(error).__name__, "message": str(error), "lines": lines}
    else:
        outcomes[name] = None
print(json.dumps(outcomes))
"""


@dataclass(frozen=True)
class Program:
    """One program of the corpus: a file, or a folder with modules."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def kind(self) -> str:
        return self.path.parent.name

    @cached_property
    def files(self) -> tuple[Path, ...]:
        return tuple(sorted(self.path.glob("*.py"))) if self.path.is_dir() else (self.path,)

    @cached_property
    def docstring(self) -> str:
        return (self.path / "__init__.py" if self.path.is_dir() else self.path).read_text().splitlines()[0]

    @cached_property
    def expected(self) -> dict[tuple[str, int], str]:
        """(file, from the folder of the kind; line) of each mistake in sizes, and words of its message."""
        return self._marked("shape")

    @cached_property
    def expected_of_plain_mypy(self) -> dict[tuple[str, int], str]:
        """The same for mistakes that need no plugin, with mypy's error code."""
        return self._marked("mypy")

    @cached_property
    def meets(self) -> dict[tuple[str, int], str]:
        """The lines where the sizes of a mistake written elsewhere meet."""
        return self._marked("meets")

    def _marked(self, mark: str) -> dict[tuple[str, int], str]:
        found: dict[tuple[str, int], str] = {}
        for file in self.files:
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if match := re.search(rf"  # {mark}(?:: (.*?))?(?:  # |$)", line):
                    found[file.relative_to(self.path.parent).as_posix(), number] = match[1] or ""
        return found


def programs(kind: str, corpus: Path = CORPUS) -> list[Program]:
    """Every program of ``kind``, "correct" or "faulty", that this Python can read: a name in _312 asks
    for Python 3.12.
    """
    paths = [
        path for path in sorted((corpus / kind).iterdir()) if path.suffix == ".py" or (path / "__init__.py").exists()
    ]
    return [Program(path) for path in paths if READS_312 or not path.stem.endswith("_312")]


CORRECT, FAULTY = (programs(kind) for kind in KINDS)


def identify(program: Program) -> str:
    return program.name


@dataclass(frozen=True)
class Failure:
    """How a program ended that did not run to its end; ``lines`` are the traceback's within the corpus."""

    type: str
    message: str
    lines: list[list[object]]


def run(kind: str, corpus: Path = CORPUS) -> dict[str, Failure | None]:
    command = [sys.executable, "-W", "error", "-c", RUNNER, *(program.name for program in programs(kind, corpus))]
    # Kernels for all the sizes of the corpus would take minutes to compile.
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TYPEDNN_ENGINE": "reference"}
    result = subprocess.run(command, cwd=corpus / kind, capture_output=True, text=True, check=False, env=environment)
    assert result.returncode == 0, result.stderr
    return {
        name: None if outcome is None else Failure(**outcome) for name, outcome in json.loads(result.stdout).items()
    }


def changes(correct: Program, faulty: Program) -> int:
    """In how many places two programs differ, beside their docstrings and marks."""
    lines = [
        [re.sub(r"  # shape(: .*)?$", "", line) for line in program.path.read_text(encoding="utf-8").splitlines()[1:]]
        for program in (correct, faulty)
    ]
    codes = SequenceMatcher(None, *lines, autojunk=False).get_opcodes()
    return sum(tag != "equal" for tag, *_ in codes)


def found_in(corpus: Path, config: Path, cache: Path) -> dict[str, dict[tuple[str, int], str]]:
    """What mypy reports of each kind of programs, in one run each."""
    results = {kind: mypy(kind, config, cache, corpus) for kind in KINDS}
    assert {kind: result.stderr for kind, result in results.items()} == dict.fromkeys(KINDS, "")
    return {kind: reported(result.stdout) for kind, result in results.items()}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Failure | None]:
    """By program; names are unique over both kinds."""
    return run("correct") | run("faulty")


# ---------------------------------------------------------------------------------------------------- the corpus itself


def test_there_are_enough() -> None:
    assert len(CORRECT) >= 60
    assert len(FAULTY) >= 60
    assert len({program.name for program in CORRECT + FAULTY}) == len(CORRECT + FAULTY)


@pytest.mark.parametrize("program", CORRECT + FAULTY, ids=identify)
def test_each_says_what_it_is(program: Program) -> None:
    assert re.fullmatch(r'""".+\."""', program.docstring)
    marks = len(program.expected | program.expected_of_plain_mypy)
    assert marks in ((1, 2) if program in FAULTY else (0,))


# ---------------------------------------------------------------------------------------------------- run


def raised_by_typednn(program: Program, failure: Failure | None) -> Failure | None:
    """Asserts that a faulty program ended as its docstring says; the failure, if typednn raised it."""
    text = "".join(file.read_text() for file in program.files)
    if "runs all the same" in text:
        assert failure is None
        return None
    assert failure is not None
    if "NumPy refuses it" in text:
        assert failure.type == "ValueError"
        return None
    assert issubclass(getattr(errors, failure.type, object), errors.TypednnError), failure
    return failure


@pytest.mark.parametrize("program", CORRECT, ids=identify)
def test_correct_runs(program: Program, outcomes: dict[str, Failure | None]) -> None:
    assert outcomes[program.name] is None


@pytest.mark.parametrize("program", FAULTY, ids=identify)
def test_faulty_fails(program: Program, outcomes: dict[str, Failure | None]) -> None:
    failure = raised_by_typednn(program, outcomes[program.name])
    if failure is None:
        return
    expected = program.expected | program.expected_of_plain_mypy
    if failure.type == "StackError":  # raised where the stack is built: the very line, in the very words
        met = [place for place in expected if list(place) in failure.lines]
        assert met, failure
        assert met[0] not in program.expected or program.expected[met[0]] in failure.message
    elif any(words.startswith("expects") for words in expected.values()):  # raised by the layer that was called there
        assert any(list(place) in failure.lines for place in expected), failure


# ---------------------------------------------------------------------------------------------------- read by mypy


def mypy(kind: str, config: Path, cache: Path, corpus: Path = CORPUS) -> subprocess.CompletedProcess[str]:
    """mypy over every program of ``kind``, started in its folder, so that files are told as in `Program.expected`."""
    command = [sys.executable, "-m", "mypy", "--config-file", str(config), "--cache-dir", str(cache), "."]
    if not READS_312:
        command += ["--exclude", r"_312\.py$"]
    environment = os.environ | {"MYPYPATH": os.pathsep.join(map(str, (ROOT / "stubs", ROOT)))}
    return subprocess.run(command, cwd=corpus / kind, capture_output=True, text=True, check=False, env=environment)


def reported(output: str) -> dict[tuple[str, int], str]:
    """(file, line) of each error, and its text with the code in brackets; a line's second error is appended to its
    first.
    """
    found: dict[tuple[str, int], str] = {}
    for match in re.finditer(r"^(.+?):(\d+)(?::\d+)?: error: (.*)$", output, re.MULTILINE):
        place = match[1], int(match[2])
        found[place] = f"{found[place]}\n{match[3]}" if place in found else match[3]
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_plain_mypy_sees_ranks_alone(kind: str, tmp_path: Path, mypy_cache: Callable[[str], Path]) -> None:
    config = tmp_path / "plain.ini"
    config.write_text("[mypy]\nstrict = True\n")
    found = reported(mypy(kind, config, mypy_cache("plain")).stdout)
    expected = {place: code for program in programs(kind) for place, code in program.expected_of_plain_mypy.items()}
    assert found.keys() == expected.keys(), found
    assert all(f"[{code}]" in found[place] for place, code in expected.items())


# ----------------------------------------------------------------------------------------- read by mypy with the plugin


Outputs = dict[str, str]

PLUGIN = """[mypy]
strict = True
plugins = typednn.mypy_plugin

[typednn-mypy]
debug = True
"""


@pytest.fixture(scope="session")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    """What mypy with the plugin prints over the programs of each kind: once for all tests of all processes, with one
    cache.
    """
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "corpus"
    folder.mkdir(exist_ok=True)
    found = folder / "outputs.json"
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not found.exists():
            config = folder / "plugin.ini"
            config.write_text(PLUGIN)
            results = {kind: mypy(kind, config, folder / "cache") for kind in KINDS}
            assert {kind: result.stderr for kind, result in results.items()} == dict.fromkeys(KINDS, "")
            found.write_text(json.dumps({kind: result.stdout for kind, result in results.items()}))
    outputs: Outputs = json.loads(found.read_text())
    return outputs


def test_the_plugin_accepts_what_is_correct(outputs: Outputs) -> None:
    assert outputs["correct"].startswith("Success: "), outputs["correct"]


def test_the_plugin_finds_each_mistake_once(outputs: Outputs) -> None:
    """At the very line, in the very words, and nothing else anywhere."""
    found = reported(outputs["faulty"])
    shapes = {place: words for program in FAULTY for place, words in program.expected.items()}
    plain = {
        place: code
        for program in FAULTY
        for place, code in program.expected_of_plain_mypy.items()
        if place not in shapes
    }
    assert found.keys() == shapes.keys() | plain.keys(), {
        place: found.get(place) for place in found.keys() ^ (shapes.keys() | plain.keys())
    }
    wrong = {
        place: found[place]
        for place, words in shapes.items()
        if not re.fullmatch(rf".*{re.escape(words)}.*  \[shape\]", found[place])
    }
    assert wrong == {}
    assert [place for place, code in plain.items() if not re.fullmatch(rf".+  \[{code}\]", found[place])] == []


def test_messages_are_as_recorded(outputs: Outputs) -> None:
    """The whole lines, in `messages`."""
    lines = [line for line in outputs["faulty"].splitlines() if re.match(r".+?:\d+: ", line)]
    told = {
        program.name: "".join(
            f"{line}\n" for line in lines if Path(line.partition(":")[0]).parts[0] == program.path.name
        )
        for program in FAULTY
    }
    if os.environ.get("TYPEDNN_RECORD") == "1":
        MESSAGES.mkdir(exist_ok=True)
        for file in MESSAGES.glob("*.txt"):
            file.unlink()
        for name, text in told.items():
            (MESSAGES / f"{name}.txt").write_text(text, encoding="utf-8")
    assert {file.stem: file.read_text(encoding="utf-8") for file in MESSAGES.glob("*.txt")} == told
