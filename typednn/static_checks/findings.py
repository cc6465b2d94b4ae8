"""What mypy's plugin finds in Python files, and what cannot be parsed."""

import json
import os
import re
import tempfile
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any, final

from typednn.config.values import written
from typednn.errors import ArgumentError, TypednnError, explain, optional
from typednn.static_checks.settings import Settings, user_settings
from typednn.static_checks.targets import module_name

_PLAIN = re.compile(r"(?P<file>.+?):(?P<line>\d+): (?P<severity>error): (?P<message>.*)  \[(?P<code>syntax)\]")
_TWICE = "Source file found twice under different module names"

# What a program is read with: functions without annotations are checked too.
_OPTIONS = {"plugins": ["typednn.mypy_plugin"], "check_untyped_defs": True, "ignore_missing_imports": True}


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
    modules = {name: getattr(settings, name) for name in ("namespace_packages", "explicit_package_bases", "mypy_path")}
    options = {**_OPTIONS, **modules}
    lines = ["[tool.mypy]", *(f"{key} = {written(value)}" for key, value in options.items() if value != ())]
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
