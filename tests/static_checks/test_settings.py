"""Settings of the plugin, and of mypy as far as they count: a name or a value that there is not is told, with the
nearest name.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from typednn.errors import ArgumentError
from typednn.mypy_plugin.options import Options, read
from typednn.static_checks.settings import user_settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("pyproject.toml", "", Options()),
        ("pyproject.toml", "[tool.mypy]\nstrict = true\n", Options()),
        ("pyproject.toml", "[tool.typednn-mypy]\nreport_unknown = true\ndebug = false\n", Options(report_unknown=True)),
        ("mypy.ini", "[mypy]\n[typednn-mypy]\ndebug = On\n", Options(debug=True)),
        ("setup.cfg", "[DEFAULT]\nother = 1\n[typednn-mypy]\nreport_unknown = 1\n", Options(report_unknown=True)),
        ("mypy.ini", "[mypy]\nexclude = 100%\n[typednn-mypy]\ndebug = no\n", Options()),
        ("pyproject.toml", "[tool.typednn-mypy\n", Options()),  # mypy says so
    ],
)
def test_what_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, options: Options) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    assert read(name) == options


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "pyproject.toml",
            "[tool.typednn-mypy]\nreport_unknwon = true\n",
            "pyproject.toml: [tool.typednn-mypy]: expects a setting that there is, got report_unknwon; did you "
            "mean report_unknown?",
        ),
        (
            "mypy.ini",
            "[mypy]\n[typednn-mypy]\nspeed = 1\n",
            "mypy.ini: [typednn-mypy]: expects a setting that there is, got speed; there are report_unknown and debug",
        ),
        (
            "pyproject.toml",
            '[tool.typednn-mypy]\ndebug = "maybe"\n',
            "pyproject.toml: [tool.typednn-mypy]: debug expects true or false, got 'maybe'",
        ),
        (
            "setup.cfg",
            "[typednn-mypy]\ndebug = 2\n",
            "setup.cfg: [typednn-mypy]: debug expects true or false, got '2'",
        ),
        (
            "pyproject.toml",
            "[tool.typednn_mypy]\ndebug = true\n",
            "pyproject.toml: has typednn's settings in one table, got [tool.typednn_mypy]; name it [tool.typednn-mypy]",
        ),
        (
            "mypy.ini",
            "[mypy]\n[typednn]\ndebug = true\n",
            "mypy.ini: has typednn's settings in one table, got [typednn]; name it [typednn-mypy]",
        ),
        ("pyproject.toml", "[tool]\ntypednn-mypy = 3\n", "pyproject.toml: [tool.typednn-mypy]: expects a table, got 3"),
    ],
)
def test_what_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, text: str, message: str) -> None:
    """By the plugin, and by `typednn check`, also where the file has no table of mypy's."""
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError) as refused:
        read(name)
    assert str(refused.value) == message
    with pytest.raises(ArgumentError) as refused:
        user_settings("a.py")
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            '[tool.mypy]\nexclud = "x"\n',
            "pyproject.toml: expects settings that mypy has, got exclud; did you mean exclude?",
        ),
        (
            '[tool.mypy]\nnamespace_packages = "x"\n',
            "pyproject.toml: mypy's setting namespace_packages: Not a boolean: x",
        ),
    ],
)
def test_settings_of_mypy_that_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text(text, encoding="utf-8")
    with pytest.raises(ArgumentError) as refused:
        user_settings("a.py")
    assert str(refused.value) == message


def test_settings_of_mypy_that_do_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """mypy itself tells its user of them."""
    monkeypatch.chdir(tmp_path)
    Path("pyproject.toml").write_text('[tool.mypy]\nstrictly = true\nwarn_unused_ignores = "x"\n', encoding="utf-8")
    user_settings("a.py")


@pytest.mark.parametrize("cache", [os.devnull, "cache"])
def test_mypy_tells_of_them(tmp_path: Path, cache: str) -> None:
    """In one line, and nothing is checked."""
    (tmp_path / "mypy.ini").write_text(
        "[mypy]\nplugins = typednn.mypy_plugin\n[typednn-mypy]\nreport_unknwon = True\n", encoding="utf-8"
    )
    (tmp_path / "a.py").write_text("x = 1\n", encoding="utf-8")
    command = [sys.executable, "-m", "mypy", "--cache-dir", cache, "a.py"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    said = (
        "mypy.ini: [typednn-mypy]: expects a setting that there is, got report_unknwon; did you mean report_unknown?\n"
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", said)
