"""A built wheel works for a user who has nothing but it and what it says it needs."""

import os
import subprocess
import sys
import venv
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

REPOSITORY = Path(__file__).resolve().parents[2]
PROJECT = Path(__file__).with_name("user_project")


def _run(*command: str | Path, cwd: Path) -> str:
    hidden = ("PYTHON", "MYPY", "PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _closure(requirements: list[str]) -> dict[str, metadata.Distribution]:
    """The installed distributions that ``requirements`` need, directly and indirectly, without extras."""
    found: dict[str, metadata.Distribution] = {}
    waiting = [Requirement(text) for text in requirements]
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker and not requirement.marker.evaluate({"extra": ""})):
            continue
        found[name] = metadata.distribution(name)
        waiting += [Requirement(text) for text in found[name].requires or []]
    return found


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    _run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, REPOSITORY, cwd=folder)
    (built,) = folder.glob("typednn-*.whl")
    return built


@pytest.fixture(scope="module")
def user_python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An interpreter with the wheel, what its metadata asks for, and mypy: nothing else of this environment, and no
    network.
    """
    folder = tmp_path_factory.mktemp("user") / "venv"
    venv.create(folder, with_pip=False, symlinks=True)
    python = folder / "bin" / "python"
    _run(
        sys.executable,
        "-m",
        "pip",
        "--python",
        python,
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        wheel,
        cwd=folder,
    )
    site = Path(_run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    with zipfile.ZipFile(wheel) as archive:
        (described,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        needed = metadata.PathDistribution(site / described.partition("/")[0]).requires or []
    for distribution in _closure([*needed, "mypy"]).values():
        for top in {file.parts[0] for file in distribution.files or []} - {"..", "__pycache__"}:
            (site / top).symlink_to(Path(str(distribution.locate_file(top))))
    return python


def test_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.partition("/")[0] for name in names} == {"typednn", f"typednn-{metadata.version('typednn')}.dist-info"}
    assert "typednn/py.typed" in names
    packaged = {name for name in names if name.startswith("typednn/") and name.endswith(".py")}
    assert packaged == {path.relative_to(REPOSITORY).as_posix() for path in (REPOSITORY / "typednn").rglob("*.py")}
    pages = {name for name in names if name.endswith(".md")}
    assert pages == {f"typednn/docs/{path.name}" for path in (REPOSITORY / "docs").glob("*.md")}


def test_the_pages_arrive_with_the_wheel(user_python: Path, tmp_path: Path) -> None:
    """What messages name, an installed package has."""
    shown = _run(user_python, "-m", "typednn", "docs", "training", cwd=tmp_path)
    assert shown == (REPOSITORY / "docs" / "training.md").read_text(encoding="utf-8")
    path = Path(_run(user_python, "-m", "typednn", "docs", "training", "--path", cwd=tmp_path).strip())
    assert path.is_relative_to(user_python.parents[1])


def test_declared_requirements_are_enough(user_python: Path) -> None:
    """P-P11: what the metadata names is all that is needed."""
    _run(sys.executable, "-m", "pip", "--python", user_python, "check", cwd=PROJECT)
    origin = _run(user_python, "-c", "import typednn; print(typednn.__file__)", cwd=user_python.parent).strip()
    assert Path(origin).is_relative_to(user_python.parents[1])


def test_strict_user_project_is_accepted(user_python: Path, tmp_path: Path) -> None:
    """P-P11: types are checked before anything runs; necessary ignores prove that they arrive with the wheel."""
    plain = tmp_path / "mypy.ini"
    plain.write_text("[mypy]\n")
    _run(
        user_python,
        "-m",
        "mypy",
        "--config-file",
        plain,
        "--strict",
        "--cache-dir",
        tmp_path,
        "user.py",
        "mistakes.py",
        cwd=PROJECT,
    )


def test_the_plugin_arrives_with_the_wheel(user_python: Path, tmp_path: Path) -> None:
    settings = tmp_path / "mypy.ini"
    settings.write_text("[mypy]\nplugins = typednn.mypy_plugin\n")
    program = tmp_path / "sizes.py"
    program.write_text("from typednn.layers import Linear\n\nmodel = Linear(784, 128) >> Linear(127, 10)\n")
    arguments = ["-m", "mypy", "--config-file", settings, "--strict", "--cache-dir", tmp_path / "cache"]
    told = subprocess.run(
        [user_python, *arguments, "sizes.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    sentence = "Linear(127, 10) cannot follow Linear(784, 128): expects 127 features, gets 128"
    assert told.stdout.splitlines()[0] == f"sizes.py:3: error: {sentence}  [shape]"
    _run(user_python, *arguments, "user.py", cwd=PROJECT)


def test_neighbours_without_types_need_one_setting(user_python: Path, tmp_path: Path) -> None:
    """No stub of another package arrives: docs/gpu.md has the setting with which a strict program may import CuPy and
    scikit-learn.
    """
    program = tmp_path / "neighbours.py"
    program.write_text(
        "import cupy\nimport sklearn.datasets\nfrom typednn import Array2\nfrom typednn.layers import Linear\n"
        "from typednn.sklearn import Classifier\n\n\n"
        "def scores(x: cupy.ndarray) -> Array2:\n    return Linear(3, 2).forward(x)\n\n\n"
        "classifier = Classifier()\nclassifier.fit(*sklearn.datasets.load_iris(return_X_y=True))\n"
    )
    page = (REPOSITORY / "docs" / "gpu.md").read_text()
    setting = page.partition("<!-- file: cupy-settings.toml -->\n```toml\n")[2].partition("```")[0]
    settings = tmp_path / "pyproject.toml"
    arguments = ["-m", "mypy", "--config-file", settings, "--strict", "--cache-dir", tmp_path / "cache", program]
    settings.write_text("[tool.mypy]\n")
    told = subprocess.run([user_python, *arguments], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert {
        line.partition(": error: ")[0].rpartition(":")[2] for line in told.stdout.splitlines() if " error: " in line
    } == {"1", "2"}
    settings.write_text("[tool.mypy]\n" + setting + setting.replace("cupy", "sklearn"))
    _run(user_python, *arguments, cwd=tmp_path)


def test_user_project_runs(user_python: Path) -> None:
    """Without Halide: its absence is told once, and everything runs."""
    told = ("-W", "error", "-W", "ignore:typednn runs its slow reference ops:RuntimeWarning")
    assert _run(user_python, *told, "user.py", cwd=PROJECT) == "learned\n"
