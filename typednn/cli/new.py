"""The command that writes a small project: new."""

import re
from argparse import Namespace
from importlib.resources import files
from pathlib import Path

from typednn.cli.output import hint, say
from typednn.errors import ArgumentError, explain

# Each file of a project, and its text in typednn/cli/project: with the suffix .txt, as these are no modules of typednn.
_FILES = {
    name: f"{name.removeprefix('.')}.txt"
    for name in ("README.md", "layers.py", "model.toml", "train.py", "test_project.py", "pyproject.toml", ".gitignore")
}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")


def new(options: Namespace) -> int:
    """A folder with a layer, a config, a script, a test, settings of mypy and a README; what to do with them."""
    folder = Path(options.name)
    _write(options.name, folder)
    for name in _FILES:
        say(str(folder / name))
    train = "typednn train model.toml --import layers --data spiral --epochs 60"
    hint(f"next: cd {folder}, then {train}; README.md has more")
    return 0


def _write(given: str, folder: Path) -> None:
    """Make ``folder`` and all files in it, or nothing."""
    if not _NAME.fullmatch(folder.name) or folder.name.lower() == "typednn":
        rule = "a project's name begins with a letter, holds letters, digits, - and _, and is not typednn"
        raise ArgumentError(explain("new", rule, repr(given), "such as typednn new my-project"))
    try:
        folder.mkdir()
    except FileExistsError:
        got = "a file" if folder.is_file() else "a folder"
        raise ArgumentError(explain("new", f"{folder} must not exist yet", got, "choose another name")) from None
    except (FileNotFoundError, NotADirectoryError):
        raise ArgumentError(
            explain("new", f"{folder.parent} must be a folder", "none of this name", "make it first")
        ) from None
    written: list[Path] = []
    try:
        for name, source in _FILES.items():
            text = files("typednn.cli").joinpath("project", source).read_text(encoding="utf-8")
            written.append(folder / name)
            written[-1].write_text(text.replace("{name}", folder.name), encoding="utf-8")
    except BaseException:
        for path in written:
            path.unlink(missing_ok=True)
        folder.rmdir()
        raise
