"""The plugin's verdicts are the same whatever mypy remembers, however it was started and wherever a layer comes from.

One project: `app.py` uses what its other modules define. Each edit is of one of those, makes exactly the lines of
`app.py` wrong that are marked with its name, and is taken back. A verdict from an empty cache, or none of the project,
is the measure for every other mode.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
import venv
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path

import pytest
from effort import LONG

REPOSITORY = Path(__file__).resolve().parents[2]
OLDEST = os.environ.get("TYPEDNN_OLDEST_MYPY", "")
# `debug`: an exception inside the plugin is an error, not silence.
CONFIG = "[mypy]\nplugins = typednn.mypy_plugin\nstrict = true\n[typednn-mypy]\ndebug = true\n"

LAYERS = '''
"""Layers as a user writes them."""
from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Layer, S
from typednn.arguments import integer
from typednn.layers import Linear, ReLU
from typednn.layers.linear import LinearGrad

from widths import FACTOR, WIDTH


@final
@dataclass(frozen=True)
class RowsGrad(Gradient):
    input: Float[Array2, "batch features"]


@final
class Doubled(Layer[Array2, Array2, RowsGrad, S]):
    def forward(self, x: Float[Array2, "batch features"]) -> Float[Array2, "batch 2*features"]:
        return np.concatenate([x, x], axis=1)

    def backward(self, next_grad: Float[Array2, "batch features"]) -> RowsGrad:
        return RowsGrad(next_grad[:, : next_grad.shape[1] // 2])


@final
class Widened(Layer[Array2, Array2, RowsGrad, S]):
    def __init__(self, rows: int, columns: int = 8) -> None:
        self.rows, self.columns = rows, columns

    def forward(self, x: Float[Array2, "batch {self.rows}"]) -> Float[Array2, "batch {self.columns}"]:
        return np.zeros((x.shape[0], self.columns), x.dtype)

    def backward(self, next_grad: Float[Array2, "batch {self.columns}"]) -> RowsGrad:
        return RowsGrad(np.zeros((next_grad.shape[0], self.rows), next_grad.dtype))


@final
class Turned(Layer[Array2, Array2, RowsGrad, S]):
    def __init__(self, rows: int, columns: int) -> None:
        self.rows = integer("Turned", "rows", rows)
        self.columns = columns

    def forward(self, x: Float[Array2, "batch {self.rows}"]) -> Float[Array2, "batch {self.columns}"]:
        return np.zeros((x.shape[0], self.columns), x.dtype)

    def backward(self, next_grad: Float[Array2, "batch {self.columns}"]) -> RowsGrad:
        return RowsGrad(np.zeros((next_grad.shape[0], self.rows), next_grad.dtype))


@final
class Multiplied(Layer[Array2, Array2, RowsGrad, S]):
    def __init__(self, rows: int, width: int = WIDTH) -> None:
        self.rows, self.columns = rows, width * FACTOR

    def forward(self, x: Float[Array2, "batch {self.rows}"]) -> Float[Array2, "batch {self.columns}"]:
        return np.zeros((x.shape[0], self.columns), x.dtype)

    def backward(self, next_grad: Float[Array2, "batch {self.columns}"]) -> RowsGrad:
        return RowsGrad(np.zeros((next_grad.shape[0], self.rows), next_grad.dtype))


@final
@dataclass(frozen=True)
class NetGrad(Gradient):
    input: Float[Array2, "batch 4"]
    fc1: LinearGrad
    fc2: LinearGrad


@final
class Net(Layer[Array2, Array2, NetGrad, S]):
    def __init__(self) -> None:
        self.fc1 = Linear(4, 8)
        self.relu = ReLU()
        self.fc2 = Linear(8, 2)

    def forward(self, x: Float[Array2, "batch 4"]) -> Float[Array2, "batch 2"]:
        return self.fc2.forward(self.relu.forward(self.fc1.forward(x)))

    def backward(self, next_grad: Float[Array2, "batch 2"]) -> NetGrad:
        fc2 = self.fc2.backward(next_grad)
        fc1 = self.fc1.backward(self.relu.backward(fc2.input).input)
        return NetGrad(fc1.input, fc1, fc2)
'''

SIZES = '''
"""Sizes that models are computed from."""
from typing import Final

SIDE: Final = 5
FEATURES: Final = SIDE * SIDE * 16
'''

WIDTHS = '''
"""Sizes that app.py never imports: layers.py computes with them."""
from typing import Final

WIDTH: Final = 3
FACTOR: Final = 4
'''

FUNCTIONS = '''
"""No layer: an annotated function."""
from jaxtyping import Float

from typednn import Array2

def halved(x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 8"]:
    return x * 0.5
'''

FACTORIES = '''
"""Models, built by functions of which types say little."""
from dataclasses import dataclass
from functools import partial
from typing import Any

from helpers import grown

from typednn.layers import Linear, ReLU

HIDDEN = 8


def plain(inputs: int) -> Any:
    return Linear(inputs, HIDDEN)


def deep(inputs: int) -> Any:
    hidden = 6
    return Linear(inputs, hidden) >> ReLU() >> Linear(hidden, 8)


def tapered(width: int) -> Any:
    half = width // 2
    return Linear(4, half) >> Linear(8, 2)


class Plan:
    def __init__(self, width: int) -> None:
        self.width = width

    @property
    def doubled(self) -> int:
        return 2 * self.width

    def head(self) -> Any:
        return Linear(4, self.doubled)

    @classmethod
    def usual(cls) -> "Plan":
        return cls(4)


@dataclass(frozen=True)
class Sizes:
    width: int = 4
    inner: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "inner", 2 * self.width)


def behind(inputs: int) -> Any:
    return Linear(inputs, grown(4))


narrow = partial(deep, 4)
MODELS = {"deep": deep, "plain": plain}
'''

HELPERS = '''
"""What app.py never imports: factories.py computes with it."""
from growth import grown as grown
'''

GROWTH = '''
"""Where the helper stands."""


def grown(width: int) -> int:
    factor = 2
    return width * factor
'''

APP = '''
"""Right as it stands. The edit that a line is marked with makes it wrong."""
from factories import MODELS, Plan, Sizes, behind, deep, narrow, plain, tapered
from functions import halved
from jaxtyping import Float
from layers import Doubled, Multiplied, Net, Turned, Widened
from parts import wide
from sizes import FEATURES, SIDE

from typednn import Array2, Input
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU

doubled = Linear(6, 4) >> Doubled() >> Linear(8, 2)  # axes
widened = Widened(4) >> ReLU() >> Linear(8, 2)  # default
through = wide >> Linear(8, 2)  # default
told = Widened(4, columns=8) >> Linear(8, 2)
elsewhere = Multiplied(5) >> Linear(12, 2)  # constant of a default, constant of a constructor
factor = Multiplied(5, 2) >> Linear(8, 2)  # constant of a constructor
turned = Turned(3, 7) >> Linear(7, 2)  # mapping
images = Input(28, 28, 1) >> Conv2d(1, 6, 5) >> ReLU() >> MaxPool2d(2) \
>> Conv2d(6, 16, 3) >> ReLU() >> MaxPool2d(2) >> Flatten()
flat = images >> Linear(FEATURES, 10)  # constant
folded = images >> Linear(SIDE * SIDE * 16, 10)  # constant
net = Net() >> Linear(2, 3)
part = Net().fc1 >> Linear(8, 3)  # attribute
made = plain(4) >> Linear(8, 3)  # a name of the factory's module
stacked = deep(4) >> Linear(8, 3)  # the body of a factory
chosen = MODELS["deep"](4) >> Linear(8, 3)  # the body of a factory, an entry
filled = narrow() >> Linear(8, 3)  # the body of a factory
halves = tapered(16)  # arithmetic in a factory
headed = Plan(4).head() >> Linear(8, 3)  # a property
usual = Plan.usual().head() >> Linear(8, 3)  # a property, a class method
planned = Linear(3, Sizes().inner) >> Linear(8, 3)  # a dataclass
hidden = behind(4) >> Linear(8, 3)  # a helper of a factory, a helper that stands elsewhere


def quarter(x: Float[Array2, "batch 8"]) -> Float[Array2, "batch 8"]:
    return halved(x)  # annotation


def both(x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 2"]:
    y = doubled.forward(x)
    return y
'''

# Imports what the project imports, and nothing of the project.
LIBRARIES = """
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Input, Layer, S
from typednn.arguments import integer
from typednn.layers import Conv2d, Flatten, Linear, MaxPool2d, ReLU
from typednn.layers.linear import LinearGrad
"""

PARTS = '''
"""A chain whose sizes are another module's."""
from layers import Widened

from typednn.layers import ReLU

wide = Widened(4) >> ReLU()
'''

TWICE = """"batch 2*features"]:
        return np.concatenate([x, x], axis=1)"""

FILES = {
    name: text.lstrip()
    for name, text in {
        "layers.py": LAYERS,
        "sizes.py": SIZES,
        "widths.py": WIDTHS,
        "functions.py": FUNCTIONS,
        "parts.py": PARTS,
        "factories.py": FACTORIES,
        "helpers.py": HELPERS,
        "growth.py": GROWTH,
        "app.py": APP,
    }.items()
}
HIDDEN = """
        self.fc1 = Linear(4, 8)
        self.relu = ReLU()
        self.fc2 = Linear(8, 2)
"""
OTHER = """
def grown(width: int) -> int:
    return 3 * width
"""
# By name: the module, what stands there, what shall stand there.
EDITS = {
    "axes": ("layers.py", TWICE, TWICE.replace("2*", "3*").replace("[x, x]", "[x, x, x]")),
    "default": ("layers.py", "columns: int = 8", "columns: int = 9"),
    "mapping": ("layers.py", "        self.columns = columns\n", "        self.columns = rows\n"),
    "constant": ("sizes.py", "SIDE: Final = 5", "SIDE: Final = 4"),
    "annotation": ("functions.py", '"batch 8"', '"batch 9"'),
    "constant of a default": ("widths.py", "WIDTH: Final = 3", "WIDTH: Final = 5"),
    "constant of a constructor": ("widths.py", "FACTOR: Final = 4", "FACTOR: Final = 5"),
    "attribute": ("layers.py", HIDDEN, HIDDEN.replace("8", "9")),
    "a name of the factory's module": ("factories.py", "HIDDEN = 8", "HIDDEN = 9"),
    "the body of a factory": ("factories.py", "Linear(hidden, 8)", "Linear(hidden, 9)"),
    "an entry": ("factories.py", '"deep": deep', '"deep": tapered'),
    "arithmetic in a factory": ("factories.py", "width // 2", "width // 4"),
    "a property": ("factories.py", "2 * self.width\n\n    def head", "3 * self.width\n\n    def head"),
    "a class method": ("factories.py", "return cls(4)", "return cls(5)"),
    "a dataclass": ("factories.py", '"inner", 2 * self.width', '"inner", 3 * self.width'),
    "a helper of a factory": ("growth.py", "factor = 2", "factor = 3"),
    "a helper that stands elsewhere": ("helpers.py", "from growth import grown as grown", OTHER),
}


def marked(*edits: str) -> set[int]:
    """The lines of app.py that these edits make wrong."""
    return {
        number
        for number, line in enumerate(FILES["app.py"].splitlines(), 1)
        if {*line.partition("  # ")[2].split(", ")} & {*edits}
    }


def before_others(folder: str | Path) -> dict[str, str]:
    """The environment in which Python looks there first."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}


def lines(errors: list[str], file: str = "app.py") -> set[int]:
    return {int(line.split(":")[1]) for line in errors if line.startswith(f"{file}:") and line.endswith("[shape]")}


@dataclass
class Project:
    """A folder with those files, to edit and to read."""

    folder: Path
    interpreter: Path = Path(sys.executable)
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Mapping[str, str] = field(default_factory=FILES.copy)
    _moments: Iterator[int] = field(default_factory=lambda: count(1_700_000_000, 10))

    def __post_init__(self) -> None:
        self.write("mypy.ini", CONFIG)
        for name, text in self.files.items():
            self.write(name, text)

    def write(self, name: str, text: str) -> None:
        """With a time of its own: mypy takes a file of the same size and second for the one it knows."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        moment = next(self._moments)
        os.utime(path, (moment, moment))

    def edit(self, *edits: str) -> None:
        """These edits and no others."""
        for name, text in self.files.items():
            for module, before, after in (EDITS[edit] for edit in edits):
                if Path(name).name == module:
                    assert before in text
                    text = text.replace(before, after)
            if (self.folder / name).read_text() != text:
                self.write(name, text)

    def run(self, *command: str) -> list[str]:
        """What a command of mypy's complains of, sorted."""
        done = subprocess.run(
            [str(self.interpreter), "-m", *command],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode in (0, 1), done.stdout + done.stderr
        assert done.stderr == ""
        found = sorted(line for line in done.stdout.splitlines() if ": error:" in line)
        assert bool(found) is (done.returncode == 1), done.stdout
        return found

    def mypy(self, *options: str, cache: str = "cache", files: Sequence[str] = ("app.py",)) -> list[str]:
        return self.run("mypy", "--cache-dir", cache, *options, *files)

    @contextmanager
    def daemon(self, *options: str) -> Generator[Callable[[], list[str]], None, None]:
        dmypy = ("mypy.dmypy", "--status-file", "daemon.json")
        self.run(*dmypy, "start", "--timeout", "300", "--", "--cache-dir", "cache", *options)
        try:
            yield lambda: self.run(*dmypy, "check", "app.py")
        finally:
            self.run(*dmypy, "stop")


Libraries = Callable[..., Path]


@pytest.fixture(scope="session")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> Libraries:
    """A cache of NumPy's stubs and typednn, by name: read once for all tests of all processes, and copied by each."""
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "modes"

    def made(name: str, *options: str, **environment: str) -> Path:
        folder = shared / name
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not (folder / "done").exists():
                project = Project(folder, environment=environment, files={"libraries.py": LIBRARIES})
                assert project.mypy(*options, files=["libraries.py"]) == []
                (folder / "done").touch()
        return folder / "cache"

    return made


@pytest.fixture
def project(tmp_path: Path, libraries: Libraries) -> Project:
    """Its cache knows the libraries."""
    shutil.copytree(libraries("newest"), tmp_path / "cache")
    return Project(tmp_path)


@pytest.fixture(scope="session")
def verdicts(tmp_path_factory: pytest.TempPathFactory, libraries: Libraries) -> dict[str, list[str]]:
    """The measure: after each edit, what a mypy says that knows nothing of the project."""
    project = Project(tmp_path_factory.mktemp("measure"))
    found: dict[str, list[str]] = {}
    for edit in EDITS:
        shutil.copytree(libraries("newest"), project.folder / edit)
        project.edit(edit)
        found[edit] = project.mypy(cache=edit)
        shutil.rmtree(project.folder / edit)
    return found


def some(verdicts: Mapping[str, list[str]]) -> Mapping[str, list[str]]:
    """Of edits some in a module that is used and some in a module behind it; all where much is wanted."""
    edits = ("mapping", "constant of a default", "the body of a factory", "a helper of a factory")
    return verdicts if LONG else {edit: verdicts[edit] for edit in edits}


def follow(project: Project, verdicts: Mapping[str, list[str]], check: Callable[[], list[str]]) -> None:
    """Every edit is seen, and that it was taken back; afterwards all of them at once."""
    assert check() == []
    for edit, errors in verdicts.items():
        project.edit(edit)
        assert check() == errors, edit
        project.edit()
        assert check() == [], f"{edit} taken back"
    project.edit(*EDITS)
    assert lines(check()) == marked(*EDITS)


# ------------------------------------------------------------------ what is true


RAISES = """
import sys, traceback, numpy as np
from typednn import TypednnError
try:
    import app
    app.both(np.zeros((3, 6), np.float32)) if app.doubled.init(np.random.default_rng(0)) else None
except TypednnError as error:
    print(*{frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith("app.py")})
"""


@pytest.mark.parametrize("edit", [None, *(edit for edit in EDITS if edit != "annotation")])
def test_the_marks_are_true(tmp_path: Path, edit: str | None) -> None:
    """typednn itself refuses a marked line where it is run. (A plain function is not checked when it runs.)"""
    project = Project(tmp_path)
    project.edit(*[edit] if edit else [])
    environment = os.environ | {"TYPEDNN_ENGINE": "reference"}
    done = subprocess.run(
        [sys.executable, "-B", "-c", RAISES], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    raised = {int(number) for number in done.stdout.split()}
    assert raised <= marked(*[edit] if edit else [])
    assert bool(raised) is (edit is not None)


# ------------------------------------------------------------------ caches


def test_cold(verdicts: dict[str, list[str]]) -> None:
    for edit, errors in verdicts.items():
        assert lines(errors) == marked(edit), errors
        assert all(line.startswith("app.py:") and line.endswith("[shape]") for line in errors), errors


def test_empty_cache(tmp_path: Path) -> None:
    """NumPy's stubs and typednn are read in the same run."""
    project = Project(tmp_path)
    project.edit(*EDITS)
    errors = project.mypy()
    assert lines(errors) == marked(*EDITS)
    assert len(errors) == len(marked(*EDITS)), errors


def test_warm(project: Project, verdicts: dict[str, list[str]]) -> None:
    """Nothing is read again, or only the module that complains: what it uses comes from the cache."""
    project.edit(*EDITS)
    cold = project.mypy()
    assert project.mypy() == cold
    app = (project.folder / "app.py").read_text()
    project.write("app.py", f"{app}\n")
    assert project.mypy() == cold
    project.write("app.py", f"\n{app}")
    assert lines(project.mypy()) == {number + 1 for number in marked(*EDITS)}


def test_saved_twice_in_a_second(project: Project, verdicts: dict[str, list[str]]) -> None:
    """mypy alone would take the second text, which is as long as the first, for the one that it knows."""
    moment = int(time.time()) + 60  # after mypy has begun
    for edits, told in ([], []), (["default"], verdicts["default"]), ([], []):
        project.edit(*edits)
        os.utime(project.folder / "layers.py", (moment, moment))
        assert project.mypy() == told


def test_warm_after_an_edit_elsewhere(project: Project, verdicts: dict[str, list[str]]) -> None:
    follow(project, verdicts, project.mypy)


def test_daemon(project: Project, verdicts: dict[str, list[str]]) -> None:
    with project.daemon() as check:
        follow(project, verdicts, check)


def test_daemon_from_a_cache(tmp_path: Path, libraries: Libraries, verdicts: dict[str, list[str]]) -> None:
    shutil.copytree(libraries("fine-grained", "--cache-fine-grained"), tmp_path / "cache")
    project = Project(tmp_path)
    assert project.mypy("--cache-fine-grained") == []
    with project.daemon("--use-fine-grained-cache") as check:
        follow(project, some(verdicts), check)


def test_daemon_from_a_cache_that_an_edit_has_outrun(
    tmp_path: Path, libraries: Libraries, verdicts: dict[str, list[str]]
) -> None:
    """The daemon starts with a cache of the project as it was."""
    shutil.copytree(libraries("fine-grained", "--cache-fine-grained"), tmp_path / "cache")
    project = Project(tmp_path)
    assert project.mypy("--cache-fine-grained") == []
    project.edit(*EDITS)
    with project.daemon("--use-fine-grained-cache") as check:
        assert lines(check()) == marked(*EDITS)
        project.edit()
        assert check() == []


def test_parallel(project: Project, verdicts: dict[str, list[str]]) -> None:
    help_text = subprocess.run(
        [sys.executable, "-m", "mypy", "--help"], capture_output=True, text=True, check=True
    ).stdout
    if "--num-workers" not in help_text:
        pytest.skip("this mypy has no -n")
    follow(project, some(verdicts), partial(project.mypy, "-n", "2"))


def test_an_upgraded_plugin_is_asked_anew(project: Project, tmp_path: Path) -> None:
    """A cache holds what mypy was told: another plugin, or another algebra under it, is no reason to believe that."""
    upgraded = tmp_path / "upgraded"
    shutil.copytree(REPOSITORY / "typednn", upgraded / "typednn", ignore=shutil.ignore_patterns("__pycache__"))
    project.environment = before_others(upgraded)
    project.edit(*EDITS)
    before = project.mypy()
    for path in (upgraded / "typednn" / "shapes").glob("*.py"):
        path.write_text(path.read_text().replace("expects", "would like"))
    expected = [line.replace("expects", "would like") for line in before]
    assert expected != before
    assert project.mypy() == expected


# ------------------------------------------------------------------ where a layer comes from


PACKAGE = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "somebodys-layers"
version = "1"

[tool.hatch.build.targets.wheel]
packages = ["somebodys"]
"""


@pytest.fixture
def environment(tmp_path: Path) -> Path:
    """A virtual environment in which mypy and typednn are found; its interpreter."""
    folder = tmp_path / "environment"
    venv.create(folder, symlinks=True)
    site = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    (site / "outside.pth").write_text(f"{sysconfig.get_path('purelib')}\n{REPOSITORY}\n")
    return folder / "bin" / "python"


def test_installed_package(
    tmp_path: Path, environment: Path, libraries: Libraries, verdicts: dict[str, list[str]]
) -> None:
    """Layers and functions of a package that pip installed, cold and from the cache, and after an upgrade."""
    theirs = ("layers.py", "functions.py", "sizes.py", "widths.py")
    imported = partial(
        re.sub, rf"from ({'|'.join(name.removesuffix('.py') for name in theirs)}) ", r"from somebodys.\1 "
    )
    package = Project(
        tmp_path / "package",
        files={"pyproject.toml": PACKAGE, "somebodys/__init__.py": "", "somebodys/py.typed": ""}
        | {f"somebodys/{name}": imported(FILES[name]) for name in theirs},
    )
    project = Project(
        tmp_path / "project",
        environment,
        files={name: imported(text) for name, text in FILES.items() if name not in theirs},
    )
    shutil.copytree(libraries("newest"), project.folder / "cache")

    def install(*edits: str) -> None:
        package.edit(*edits)
        pip = [sys.executable, "-m", "pip", "--python", str(environment), "--disable-pip-version-check", "--quiet"]
        options = ["--no-index", "--no-deps", "--no-build-isolation", "--force-reinstall"]
        subprocess.run([*pip, "install", *options, str(package.folder)], check=True, capture_output=True)

    for edits in (
        [],
        ["constant of a default"],
        ["axes", "annotation", "default"],
        ["mapping", "attribute", "constant"],
    ):
        install(*edits)
        for _ in "cold or outdated", "warm":
            assert project.mypy() == sorted(line for edit in edits for line in verdicts[edit])


# ------------------------------------------------------------------ versions


UNREAD_BY_OLDEST = "package_aliases/"  # aliases of other modules: the page on static sizes says so


@pytest.mark.skipif(
    not OLDEST, reason="needs the oldest mypy that typednn supports in a folder: set TYPEDNN_OLDEST_MYPY"
)
class TestOldest:
    @pytest.fixture
    def oldest(self, tmp_path: Path, libraries: Libraries) -> Project:
        path = before_others(OLDEST)
        shutil.copytree(libraries("oldest", **path), tmp_path / "cache")
        return Project(tmp_path, environment=path)

    def test_is_the_oldest(self) -> None:
        """The folder holds the version that pyproject.toml names."""
        extra = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["optional-dependencies"]["mypy"]
        (oldest,) = (requirement.removeprefix("mypy>=") for requirement in extra if requirement.startswith("mypy>="))
        path = {**os.environ, **before_others(OLDEST)}
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--version"], env=path, capture_output=True, text=True, check=True
        )
        assert f"{done.stdout.split()[1]}.".startswith(f"{oldest}.")

    def test_edits(self, oldest: Project) -> None:
        follow(oldest, {}, oldest.mypy)

    def test_daemon(self, oldest: Project, verdicts: dict[str, list[str]]) -> None:
        with oldest.daemon() as check:
            follow(oldest, some(verdicts), check)

    @pytest.mark.parametrize(
        ("programs", "faulty"),
        [("examples", False), ("tests/typing/corpus/correct", False), ("tests/typing/corpus/faulty", True)],
    )
    def test_programs(self, oldest: Project, libraries: Libraries, programs: str, faulty: bool) -> None:
        """What the newest says."""
        home = oldest.folder / "programs"
        shutil.copytree(REPOSITORY / programs, home / "examples" if programs == "examples" else home)
        shutil.copytree(libraries("newest"), home / "newest")
        shutil.copytree(libraries("oldest"), home / "oldest")
        newest = Project(home, files={}).mypy(cache="newest", files=["."])
        again = Project(home, environment=oldest.environment, files={}).mypy(cache="oldest", files=["."])
        # mypy's own verdicts are not ours to compare.
        found, found_again = (
            [line for line in errors if line.endswith("[shape]") and not line.startswith(UNREAD_BY_OLDEST)]
            for errors in (newest, again)
        )
        assert found_again == found
        assert bool(found) is faulty


# ------------------------------------------------------------------ weight


def test_imports_no_array_library() -> None:
    """mypy starts no slower than the plugin's own code takes."""
    loaded = "import sys, typednn.mypy_plugin; print(*{name.partition('.')[0] for name in sys.modules})"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert not {"numpy", "jaxtyping", "beartype", "rich", "safetensors", "tree_sitter"} & set(done.stdout.split())
