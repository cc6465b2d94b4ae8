"""Which Python files a target names: a file, a folder or a module; and the names under which mypy knows them."""

import importlib.util
import os
import re
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from itertools import takewhile
from pathlib import Path

from typednn.errors import ArgumentError, explain
from typednn.static_checks.settings import user_settings

_PYTHON = (".py", ".pyi")
_SKIPPED = ("__pycache__", "node_modules", "site-packages")


def python_files(target: str) -> list[str] | None:
    """The Python files that ``target`` names: a file, a folder, or a module; None where it is a config."""
    path = Path(target)
    if path.suffix.lower() == ".ipynb" and path.is_file():
        cure = f"write its cells out first: jupyter nbconvert --to script {target}"
        raise ArgumentError(explain(target, "expects Python source", "a notebook", cure))
    if path.is_dir():
        return _in_folder(target, user_settings(target).exclude)
    if path.exists():
        return [target] if path.suffix in _PYTHON else None
    if path.suffix.lower() in (".toml", ".json"):
        return None  # the config loader says best what is wrong with it
    found = _module_files(target)
    if found is None:
        a_module = path.suffix not in _PYTHON and os.sep not in target
        cure = "modules are looked for here, in mypy_path and where Python imports from" if a_module else ""
        raise ArgumentError(
            explain(target, "expects a config, a Python file, a folder or a module", "nothing of that name", cure)
        )
    return found


def _in_folder(folder: str, exclude: Sequence[str]) -> list[str]:
    try:
        found = sorted(_walked(folder, [re.compile(pattern) for pattern in exclude]))
    except re.error as error:
        raise ArgumentError(
            explain("mypy's setting exclude", "expects regular expressions", repr(error.pattern), str(error))
        ) from None
    if not found:
        raise ArgumentError(
            explain(folder, "expects a folder with Python files", "none", "mypy's setting exclude counts here too")
        )
    return found


def _walked(folder: str, exclude: Sequence[re.Pattern[str]]) -> Iterator[str]:
    """As mypy walks: ``exclude`` is searched for in each path from here, that of a folder ends with a slash."""
    for parent, folders, files in os.walk(folder):
        below = os.path.normpath(parent)

        def kept(name: str, ending: str = "", below: str = below) -> bool:
            path = os.path.relpath(os.path.join(below, name)).replace(os.sep, "/") + ending
            return not any(pattern.search(path) for pattern in exclude)

        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED and kept(name, "/")]
        yield from (os.path.join(below, name) for name in files if name.endswith(".py") and kept(name))


def _module_files(name: str) -> list[str] | None:
    """The files of a module, or of a package with all that is in it; nothing is imported."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    settings = user_settings(name)
    first, *rest = name.split(".")
    listed = (*settings.mypy_path, *filter(None, os.environ.get("MYPYPATH", "").split(os.pathsep)))
    places = [os.getcwd(), *map(os.path.abspath, listed)]  # importlib remembers a folder by its name
    spec = PathFinder.find_spec(first, places) or _installed(first)
    for part in rest:
        spec = (
            PathFinder.find_spec(part, spec.submodule_search_locations)
            if spec and spec.submodule_search_locations
            else None
        )
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return [
            file
            for folder in spec.submodule_search_locations
            for file in _in_folder(_from_here(folder), settings.exclude)
        ]
    if spec.origin is None or not spec.origin.endswith(".py"):
        raise ArgumentError(explain(name, "expects a module that is written in Python", str(spec.origin)))
    return [_from_here(spec.origin)]


def _installed(name: str) -> ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ValueError:  # such as __main__, which has no spec
        return None


def _from_here(path: str) -> str:
    """Relative to the current folder if it is in there."""
    return os.path.relpath(path) if Path(path).is_relative_to(os.getcwd()) else path


def base_folder(file: str) -> str:
    """Where mypy begins to count the file's module name: the folder above its packages."""
    path, name = Path(os.path.abspath(file)), module_name(file)
    is_package = path.stem == "__init__" and name != "__init__"  # its name is that of its folder
    return str(path.parents[name.count(".") + is_package])


def module_name(file: str) -> str:
    """Under which mypy knows the file: the folders above it count as long as they hold an ``__init__``."""
    path = Path(os.path.abspath(file))
    packages = takewhile(
        lambda folder: any((folder / f"__init__{suffix}").is_file() for suffix in _PYTHON), path.parents
    )
    parts = [path.stem, *(folder.name for folder in packages)]
    return ".".join(reversed(parts[1:] if path.stem == "__init__" and len(parts) > 1 else parts))
