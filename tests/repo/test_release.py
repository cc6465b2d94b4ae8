"""What is released: the same bytes from the same sources, and a wheel that works in an empty environment.

The installations ask the package registry that pip is set up for; without one they are skipped.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

import pytest

import typednn

REPOSITORY = Path(__file__).resolve().parents[2]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")

# A model is built, trained and saved, and its size mistakes are found.
PROGRAM = """\
import numpy as np
import typednn
from typednn import Input
from typednn.data import Loader
from typednn.layers import Linear, ReLU
from typednn.losses import MSE
from typednn.optim import Adam
from typednn.training import fit

rng = np.random.default_rng(0)
x = rng.standard_normal((64, 4), dtype=np.float32)
model = Input(4) >> Linear(4, 8) >> ReLU() >> Linear(8, 1)
model.init(rng)
loader = Loader(x, x.sum(axis=1, keepdims=True), batch_size=16, rng=rng)
print(fit(model, MSE(), Adam(1e-2), loader, epochs=50, progress=False).epochs[-1].loss < 0.1)
model.save("model.safetensors")
print(typednn.load("model.safetensors").num_parameters())
"""
MISTAKE = "from typednn.layers import Linear\n\nmodel = Linear(784, 128) >> Linear(127, 10)\n"


def _run(*command: str | Path, cwd: Path, **changes: str) -> "subprocess.CompletedProcess[str]":
    hidden = ("PYTHON", "MYPY", "PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT", "TYPEDNN")
    environment = {name: value for name, value in os.environ.items() if not name.startswith(hidden)}
    return subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**environment, **changes},
        capture_output=True,
        text=True,
        check=False,
    )


def _built(sources: Path, folder: Path) -> dict[str, bytes]:
    """The wheel and the archive of the sources, by name."""
    command = (sys.executable, "-m", "build", "--sdist", "--wheel", "--no-isolation", "--outdir", folder, sources)
    done = _run(*command, cwd=sources, SOURCE_DATE_EPOCH="1767225600")
    assert done.returncode == 0, done.stdout + done.stderr
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    return _built(REPOSITORY, tmp_path_factory.mktemp("built"))


@pytest.fixture(scope="module")
def wheel(built: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> Path:
    ((name, content),) = ((name, content) for name, content in built.items() if name.endswith(".whl"))
    path = tmp_path_factory.mktemp("wheel") / name
    path.write_bytes(content)
    return path


def test_one_place_says_the_version(built: dict[str, bytes]) -> None:
    version = typednn.__version__
    assert set(built) == {f"typednn-{version}-py3-none-any.whl", f"typednn-{version}.tar.gz"}
    assert metadata.version("typednn") == version, "`make setup` installs it anew"
    changes = (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"\n## {version} (" in changes, "its changes have a section"


def test_the_same_sources_give_the_same_bytes(built: dict[str, bytes], tmp_path: Path) -> None:
    """Elsewhere and at another time, and from the archive of the sources as well."""
    (archive,) = (content for name, content in built.items() if name.endswith(".tar.gz"))
    (tmp_path / "sources.tar.gz").write_bytes(archive)
    with tarfile.open(tmp_path / "sources.tar.gz") as sources:
        sources.extractall(tmp_path / "elsewhere", filter="data")
    (unpacked,) = (tmp_path / "elsewhere").iterdir()
    for path in unpacked.rglob("*"):
        os.utime(path)
    again = _built(unpacked, tmp_path / "again")
    assert again.keys() == built.keys()
    assert [name for name in built if again[name] != built[name]] == []


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A package registry that answers, else the installations are skipped."""
    folder = tmp_path_factory.mktemp("registry")
    ask = (sys.executable, "-m", "pip", "download", "--no-deps", "--no-cache-dir", "--dest", folder, "rich==13.4")
    if _run(*ask, cwd=folder).returncode:
        pytest.skip("no package registry answers")


def _python(version: str, cwd: Path) -> str | Path | None:
    """An interpreter of this version, on the path or of pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    found = [shutil.which(f"python{version}"), *sorted(pyenv.glob(f"{version}.*/bin/python"))]
    return next((each for each in found if each and _run(each, "-c", "", cwd=cwd).returncode == 0), None)


@pytest.mark.parametrize("dependencies", ["newest", "oldest"])
@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_works(version: str, dependencies: str, wheel: Path, tmp_path: Path, registry: None) -> None:
    """With what the metadata asks for, and nothing else: a training, `typednn docs` and `typednn check`."""
    found = _python(version, tmp_path)
    if found is None:
        pytest.skip(f"no Python {version} on this machine")
    assert _run(found, "-m", "venv", "venv", cwd=tmp_path).returncode == 0
    python = tmp_path / "venv" / "bin" / "python"
    oldest = ("--constraint", REPOSITORY / "constraints-oldest.txt") if dependencies == "oldest" else ()
    install = ("-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:", *oldest, f"{wheel}[mypy]")
    done = _run(python, *install, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    trained = _run(python, "-W", "ignore", "-c", PROGRAM, cwd=tmp_path)
    assert trained.stdout == "True\n49\n", trained.stderr
    (tmp_path / "sizes.py").write_text(MISTAKE, encoding="utf-8")
    checked = _run(python, "-m", "typednn", "check", "sizes.py", cwd=tmp_path)
    assert checked.stdout.startswith("sizes.py:3: error: Linear(127, 10) cannot follow"), (
        checked.stdout + checked.stderr
    )
    assert _run(python, "-m", "typednn", "docs", "training", cwd=tmp_path).stdout.startswith("# Training\n")
