"""What mypy's plugin finds in Python files, and what cannot be parsed."""

import json
import os
import re
import tempfile
import tokenize
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any, final

from typednn.config.values import written
from typednn.errors import ArgumentError, TypednnError, explain, optional
from typednn.static_checks.settings import NEEDS_MYPY, user_settings
from typednn.static_checks.targets import module_name

_PLAIN = re.compile(r"(?P<file>.+?):(?P<line>\d+): (?P<severity>error): (?P<message>.*)  \[(?P<code>syntax)\]")
_TWICE = "Source file found twice under different module names"

# What a program is read with: functions without annotations are checked too.
_OPTIONS: dict[str, object] = {"plugins": ["typednn.mypy_plugin"], "check_untyped_defs": True, "ignore_missing_imports": True}


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
    api: Any = optional("mypy.api", files[0], *NEEDS_MYPY)
    settings = user_settings(files[0])
    options = _OPTIONS | {name: getattr(settings, name) for name in ("namespace_packages", "explicit_package_bases", "mypy_path")}
    faulty = [finding for file in files if (finding := _syntax_error(file)) is not None]
    unread = [finding.path for finding in faulty]
    names = sorted(set(map(module_name, unread)))
    cache = _cache(settings.cache_dir)
    found = {*faulty, *(finding for batch in _batches(files, unread) for finding in _of_batch(api, cache, batch, names, options))}
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


def _batches(files: Sequence[str], unread: Sequence[str]) -> list[list[str]]:
    """No two files of one name together, such as ``a/train.py`` and ``b/train.py``: mypy would refuse."""
    named: dict[str, list[str]] = {}
    for file in files:
        if file not in unread:
            named.setdefault(module_name(file), []).append(file)
    return [[file for file in batch if file is not None] for batch in zip_longest(*named.values())]


def _of_batch(api: Any, cache: str, files: Sequence[str], unread: Sequence[str], options: Mapping[str, object]) -> list[Finding]:
    """What mypy finds. ``unread`` modules cannot be parsed; they are not followed, so that those which import them are checked as well."""
    configuration = ["[tool.mypy]", *(f"{key} = {written(value)}" for key, value in options.items())]
    if unread:
        configuration += ["[[tool.mypy.overrides]]", f"module = {written(unread)}", 'follow_imports = "skip"']
    with tempfile.TemporaryDirectory(prefix="typednn-") as folder:
        config = Path(folder, "mypy.toml")
        config.write_text("\n".join(configuration), encoding="utf-8")
        arguments = ["--config-file", str(config), "--cache-dir", cache, "--output", "json", "--no-error-summary", "--", *files]
        output, errors, code = api.run(arguments)
    lines = [line for line in f"{output}\n{errors}".splitlines() if line and not line.startswith("Found ")]
    objects, prose = _objects(lines), [line for line in lines if not line.startswith("{")]
    if any(_TWICE in text for text in (*prose, *(one["message"] for one in objects))) and not options["explicit_package_bases"]:
        # Files of a folder without __init__.py that import each other by its name.
        return _of_batch(api, cache, files, unread, {**options, "namespace_packages": True, "explicit_package_bases": True})
    stopped = code not in (0, 1)
    reported = list(_reported(objects, files, everything=stopped))
    if stopped and not reported:
        raise TypednnError("\n".join(["mypy stopped before the end:", *prose]))
    imported = {module_name(one.path) for one in reported if one.code == "syntax" and one.path not in files} - set(unread)
    return reported + _of_batch(api, cache, files, [*unread, *sorted(imported)], options) if imported else reported


def _objects(lines: Sequence[str]) -> list[dict[str, Any]]:
    """mypy's complaints. mypy before 2.0 reports what stops it in plain words."""
    plain = [match for line in lines if (match := _PLAIN.fullmatch(line)) is not None]
    return [json.loads(line) for line in lines if line.startswith("{")] or [
        {**match.groupdict(), "line": int(match["line"]), "column": 0, "hint": None} for match in plain
    ]


def _reported(objects: Iterable[dict[str, Any]], files: Sequence[str], *, everything: bool) -> Iterator[Finding]:
    """The plugin's errors in ``files``; ``everything`` where mypy stopped, then it named the reason only."""
    for one in objects:
        if one["severity"] != "error" or not (everything or one["code"] == "shape"):
            continue
        file = _named(one["file"], files)
        if everything or file is not None:
            message = f"{one['message']}\n{one['hint']}" if one["hint"] else one["message"]
            yield Finding(file or one["file"], max(1, one["line"]), max(1, one["column"] + 1), message, one["code"] or "mypy")


def _named(path: str, files: Sequence[str]) -> str | None:
    """Which of ``files`` mypy reports on. Of a file that was copied or moved it may name the earlier path, from its cache."""
    absolute = os.path.abspath(path)
    dotted = ".".join(Path(absolute).with_suffix("").parts).removesuffix(".__init__")
    if Path(absolute).exists():
        candidates = (file for file in files if module_name(file) == module_name(absolute))
    else:
        candidates = (file for file in files if dotted.endswith(f".{module_name(file)}"))
    return next((file for file in files if os.path.abspath(file) == absolute), None) or next(candidates, None)


def _cache(beside: str) -> str:
    """A folder within mypy's own cache, as the settings differ; nowhere, if nothing can be written here."""
    folder = Path(os.environ.get("MYPY_CACHE_DIR") or beside, "typednn")
    exists = next(one for one in (folder.absolute(), *folder.absolute().parents) if one.exists())
    return str(folder) if exists.is_dir() and os.access(exists, os.W_OK) else os.devnull
