"""check, for Python: the mypy plugin's verdicts on sizes, without a mypy set-up of one's own.

mypy runs within this process, with typednn's plugin and a configuration made here. Only what the plugin says is reported, and files
that cannot be parsed; everything else that mypy finds is left to those who run mypy. Of the user's own mypy settings those count that
decide where modules are found.
"""

from __future__ import annotations

import configparser
import importlib.util
import json
import os
import re
import tempfile
import tokenize
import tomllib
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from importlib.machinery import ModuleSpec, PathFinder
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, cast, final

from typednn.config.values import written
from typednn.errors import ArgumentError, TypednnError, explain, optional

PLUGIN: Final = "typednn.mypy_plugin"

_PYTHON = (".py", ".pyi")
_CONFIG_FILES = ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg")
_SKIPPED = ("__pycache__", "node_modules", "site-packages")
_PLAIN = re.compile(r"(?P<file>.+?):(?P<line>\d+): (?P<severity>error): (?P<message>.*)  \[(?P<code>syntax)\]")
_TWICE = "Source file found twice under different module names"

# What a program is read with: functions without annotations are checked too.
_OPTIONS = {"check_untyped_defs": True, "ignore_missing_imports": True}


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One complaint; ``line`` and ``column`` count from 1. ``code`` is ``shape``, ``syntax`` or ``config``."""

    path: str
    line: int
    column: int
    message: str
    code: str

    def __str__(self) -> str:
        """As mypy prints it; further lines of the message are notes."""
        first, *notes = self.message.splitlines()
        where = f"{self.path}:{self.line}"
        return "\n".join([f"{where}: error: {first}  [{self.code}]", *(f"{where}: note: {note}" for note in notes)])

    def as_json(self) -> str:
        """An object on one line."""
        return json.dumps(asdict(self))


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """What the user's mypy configuration says about finding modules."""

    mypy_path: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    namespace_packages: bool = True
    explicit_package_bases: bool = False
    cache_dir: str = ".mypy_cache"


# ---------------------------------------------------------------------------------------------------- which files


def python_files(target: str) -> list[str] | None:
    """The Python files that ``target`` names: a file, a folder, or a module; None where it is a config."""
    path = Path(target)
    if path.suffix.lower() == ".ipynb" and path.is_file():
        cure = f"write its cells out first: jupyter nbconvert --to script {target}"
        raise ArgumentError(explain(target, "expects Python source", "a notebook", cure))
    if path.is_dir():
        return _in_folder(target, user_settings())
    if path.exists():
        return [target] if path.suffix in _PYTHON else None
    if path.suffix.lower() == ".toml":
        return None  # the config loader says best what is wrong with it
    found = _module_files(target, user_settings())
    if found is None:
        a_module = path.suffix not in _PYTHON and os.sep not in target
        cure = "modules are looked for here, in mypy_path and where Python imports from" if a_module else ""
        raise ArgumentError(explain(target, "expects a config, a Python file, a folder or a module", "nothing of that name", cure))
    return found


def _in_folder(folder: str, settings: Settings) -> list[str]:
    try:
        exclude = [re.compile(pattern) for pattern in settings.exclude]
    except re.error as error:
        raise ArgumentError(explain("mypy's setting exclude", "expects regular expressions", repr(error.pattern), str(error))) from None
    found = sorted(_walked(folder, exclude))
    if not found:
        raise ArgumentError(explain(folder, "expects a folder with Python files", "none", "mypy's setting exclude counts here too"))
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


def _module_files(name: str, settings: Settings) -> list[str] | None:
    """The files of a module, or of a package with all that is in it; nothing is imported."""
    if not all(part.isidentifier() for part in name.split(".")):
        return None
    first, *rest = name.split(".")
    places = [os.getcwd(), *settings.mypy_path, *filter(None, os.environ.get("MYPYPATH", "").split(os.pathsep))]
    spec = PathFinder.find_spec(first, places) or _installed(first)
    for part in rest:
        spec = PathFinder.find_spec(part, spec.submodule_search_locations) if spec and spec.submodule_search_locations else None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        return [file for folder in spec.submodule_search_locations for file in _in_folder(_from_here(folder), settings)]
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


# ---------------------------------------------------------------------------------------------------- the user's settings


def user_settings() -> Settings:
    """From the file that mypy would read: here, else in the folders above up to the root of the repository."""
    here = Path.cwd()
    for folder in (here, *here.parents):
        for name in _CONFIG_FILES:
            section = _section(folder / name)
            if section is not None:
                return _settings(section, folder)
        if any((folder / root).exists() for root in (".git", ".hg")):
            break
    return Settings()


def _section(path: Path) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix == ".toml":
            tables: dict[str, Any] = tomllib.loads(text).get("tool", {})
        else:
            parser = configparser.RawConfigParser()
            parser.read_string(text)
            tables = dict(parser)
    except (ValueError, configparser.Error) as error:
        raise ArgumentError(f"{os.path.relpath(path)}: cannot be read for mypy's settings: {error}") from None
    return tables.get("mypy")


def _settings(section: Mapping[str, Any], folder: Path) -> Settings:
    def switch(key: str, unless_told: bool) -> bool:
        return str(section.get(key, unless_told)).lower() in ("true", "1", "yes", "on")

    def expanded(path: str) -> str:
        path = re.sub(r"\$MYPY_CONFIG_FILE_DIR|\$\{MYPY_CONFIG_FILE_DIR\}", lambda _: str(folder), path)
        return os.path.abspath(os.path.expanduser(os.path.expandvars(path)))

    plain = Settings()
    return Settings(
        mypy_path=tuple(map(expanded, _listed(section.get("mypy_path", []), "[,:]"))),
        exclude=tuple(_listed(section.get("exclude", []), "")),
        namespace_packages=switch("namespace_packages", plain.namespace_packages),
        explicit_package_bases=switch("explicit_package_bases", plain.explicit_package_bases),
        cache_dir=str(section.get("cache_dir", plain.cache_dir)),
    )


def _listed(value: object, separators: str) -> list[str]:
    parts = cast("list[object]", value) if isinstance(value, list) else re.split(separators, str(value)) if separators else [value]
    return [text for part in parts if (text := str(part).strip())]


# ---------------------------------------------------------------------------------------------------- what is found


def findings(files: Sequence[str]) -> list[Finding]:
    """What the plugin says about ``files``, in the order of files and lines; `TypednnError` where mypy could not do its work."""
    for file in files:
        if file != file.encode(errors="replace").decode():
            raise ArgumentError(explain(file, "mypy reads paths in UTF-8", "bytes that are none", "rename it"))
    api: Any = optional("mypy.api", files[0], "needs mypy to check Python", "pip install 'typednn[mypy]'")
    settings = user_settings()
    faulty = [finding for file in files if (finding := _syntax_error(file)) is not None]
    unread = {finding.path for finding in faulty}
    names = [module_name(file) for file in unread]
    batches = _batches([file for file in files if file not in unread])
    found = {*faulty, *(finding for batch in batches for finding in _asked(api, batch, names, settings))}
    order = {os.path.abspath(file): place for place, file in enumerate(files)}
    return sorted(found, key=lambda one: (order.get(os.path.abspath(one.path), len(order)), one.line, one.column, one.message))


def _syntax_error(file: str) -> Finding | None:
    """Python's own complaint about a file that it cannot parse. mypy would stop there, and check no other file."""
    try:
        with tokenize.open(file) as opened, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(opened.read(), file, "exec", dont_inherit=True)
    except SyntaxError as error:
        return Finding(file, error.lineno or 1, max(1, error.offset or 1), error.msg, "syntax")
    except (ValueError, RecursionError, MemoryError) as error:  # among them bytes that are no text
        return Finding(file, 1, 1, str(error) or type(error).__name__, "syntax")
    return None


def module_name(file: str) -> str:
    """Under which mypy knows the file: the folders above it count as long as they hold an ``__init__``."""
    path = Path(os.path.abspath(file))
    parts, folder = [path.stem], path.parent
    while any((folder / f"__init__{suffix}").is_file() for suffix in _PYTHON):
        parts.append(folder.name)
        folder = folder.parent
    return ".".join(reversed(parts[1:] if path.stem == "__init__" and len(parts) > 1 else parts))


def _batches(files: Sequence[str]) -> list[list[str]]:
    """No two files of one name together, such as ``a/train.py`` and ``b/train.py``: mypy would refuse."""
    named: dict[str, list[str]] = {}
    for file in files:
        named.setdefault(module_name(file), []).append(file)
    return [[file for file in batch if file is not None] for batch in zip_longest(*named.values())]


def _asked(api: Any, files: Sequence[str], unread: Sequence[str], settings: Settings) -> list[Finding]:
    """What mypy finds. ``unread`` modules cannot be parsed; they are not followed, so that those which import them are checked as well."""
    objects, prose, stopped = _run(api, files, _configuration(unread, settings), _cache(settings))
    if any(_TWICE in text for text in (*prose, *(one["message"] for one in objects))) and not settings.explicit_package_bases:
        # Files of a folder without __init__.py that import each other by its name.
        return _asked(api, files, unread, replace(settings, namespace_packages=True, explicit_package_bases=True))
    kept = list(_kept(objects, files, everything=stopped))
    if stopped and not kept:
        raise TypednnError("\n".join(["mypy stopped before the end:", *prose]))
    imported = {module_name(one.path) for one in kept if one.code == "syntax" and one.path not in files} - set(unread)
    return kept + _asked(api, files, [*unread, *imported], settings) if imported else kept


def _run(api: Any, files: Sequence[str], configuration: str, cache: str) -> tuple[list[dict[str, Any]], list[str], bool]:
    """Its complaints as objects, what it said in prose, and whether it stopped before the end."""
    with tempfile.TemporaryDirectory(prefix="typednn-") as folder:
        config = Path(folder, "mypy.toml")
        config.write_text(configuration, encoding="utf-8")
        options = ["--config-file", str(config), "--cache-dir", cache, "--output", "json", "--no-error-summary"]
        said, complained, code = api.run([*options, "--", *files])
    lines = [line for line in f"{said}\n{complained}".splitlines() if line and not line.startswith("Found ")]
    objects: list[dict[str, Any]] = [json.loads(line) for line in lines if line.startswith("{")]
    if not objects:  # mypy before 2.0 says what stops it in plain words
        plain = [match for line in lines if (match := _PLAIN.fullmatch(line)) is not None]
        objects = [{**match.groupdict(), "line": int(match["line"]), "column": 0, "hint": None} for match in plain]
    return objects, [line for line in lines if not line.startswith("{")], code not in (0, 1)


def _configuration(unread: Sequence[str], settings: Settings) -> str:
    """A configuration file for mypy."""
    told: dict[str, object] = {"plugins": [PLUGIN], **_OPTIONS, "namespace_packages": settings.namespace_packages}
    told |= {"explicit_package_bases": settings.explicit_package_bases} | ({"mypy_path": settings.mypy_path} if settings.mypy_path else {})
    lines = ["[tool.mypy]", *(f"{key} = {written(value)}" for key, value in told.items())]
    if unread:
        lines += ["[[tool.mypy.overrides]]", f"module = {written(sorted(unread))}", 'follow_imports = "skip"']
    return "\n".join(lines) + "\n"


def _kept(objects: Iterable[dict[str, Any]], files: Sequence[str], *, everything: bool) -> Iterator[Finding]:
    """The plugin's errors in ``files``; ``everything`` where mypy stopped, then it named the reason only."""
    for one in objects:
        if one["severity"] != "error" or not (everything or one["code"] == "shape"):
            continue
        file = _meant(one["file"], files)
        if everything or file is not None:
            message = f"{one['message']}\n{one['hint']}" if one["hint"] else one["message"]
            yield Finding(file or one["file"], max(1, one["line"]), max(1, one["column"] + 1), message, one["code"] or "mypy")


def _meant(path: str, files: Sequence[str]) -> str | None:
    """Which of ``files`` mypy speaks of. Of a file that was copied or moved it may name, out of its cache, the place before."""
    absolute = os.path.abspath(path)
    dotted = ".".join(Path(absolute).with_suffix("").parts).removesuffix(".__init__")
    if Path(absolute).exists():
        candidates = (file for file in files if module_name(file) == module_name(absolute))
    else:
        candidates = (file for file in files if dotted.endswith(f".{module_name(file)}"))
    return next((file for file in files if os.path.abspath(file) == absolute), None) or next(candidates, None)


def _cache(settings: Settings) -> str:
    """Beside mypy's own, whose settings are others; nowhere, if nothing can be written here."""
    folder = Path(os.environ.get("MYPY_CACHE_DIR") or settings.cache_dir, "typednn")
    exists = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    return str(folder) if exists.is_dir() and os.access(exists, os.W_OK) else os.devnull
