"""The files that a target names, the settings that count for it, and the names under which mypy knows files."""

from pathlib import Path

import pytest

from typednn.errors import ArgumentError
from typednn.static_checks.targets import module_name, python_files


@pytest.mark.parametrize(
    ("file", "name"),
    [("top/pack/a.py", "pack.a"), ("top/pack/__init__.py", "pack"), ("top/a.py", "a"), ("top/pack/in/b.py", "b")],
)
def test_module_names(tmp_path: Path, file: str, name: str) -> None:
    package = tmp_path / "top" / "pack"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    assert module_name(str(tmp_path / file)) == name


@pytest.mark.parametrize(
    "settings", ["[tool.mypy]\nexclude = 3\n", "[tool.mypy]\ncache_dir = 5\n", "[tool]\nmypy = 3\n"]
)
def test_settings_of_a_wrong_type_are_one_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str) -> None:
    (tmp_path / "pyproject.toml").write_text(settings, encoding="utf-8")
    (tmp_path / "a.py").touch()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArgumentError, match="cannot be read for mypy's settings"):
        python_files(".")


def test_mypy_path_is_that_of_the_present_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("first", "second"):
        package = tmp_path / name / "src" / f"of_{name}"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (tmp_path / name / "mypy.ini").write_text("[mypy]\nmypy_path = src\n", encoding="utf-8")
        monkeypatch.chdir(tmp_path / name)
        assert python_files(f"of_{name}") == [f"src/of_{name}/__init__.py"]
