"""The names under which mypy knows files."""

from pathlib import Path

import pytest

from typednn.static_checks.targets import module_name


@pytest.mark.parametrize(
    ("file", "name"), [("top/pack/a.py", "pack.a"), ("top/pack/__init__.py", "pack"), ("top/a.py", "a"), ("top/pack/in/b.py", "b")]
)
def test_module_names(tmp_path: Path, file: str, name: str) -> None:
    package = tmp_path / "top" / "pack"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    assert module_name(str(tmp_path / file)) == name
