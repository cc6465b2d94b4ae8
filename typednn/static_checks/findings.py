"""What mypy's plugin finds in Python files, and what cannot be parsed."""

import io
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
from typing import TYPE_CHECKING, Any, final

from typednn.config.values import written
from typednn.errors import ArgumentError, TypednnError, explain
from typednn.static_checks.hidden import hidden_by, hiding, import_line
from typednn.static_checks.running import KeptMypy, Mypy, OnceMypy, source_folders
from typednn.static_checks.settings import user_settings
from typednn.static_checks.targets import module_name
from typednn.version import __version__

if TYPE_CHECKING:  # importing the plugin needs mypy
    from typednn.mypy_plugin.facts import ModuleFacts

_PLAIN = re.compile(r"(?P<file>.+?):(?P<line>\d+): (?P<severity>error): (?P<message>.*)  \[(?P<code>syntax)\]")
_TWICE = "Source file found twice under different module names"

# What a program is read with: functions without annotations are checked too. A crash comes with its traceback.
_OPTIONS: dict[str, object] = {
    "plugins": ["typednn.mypy_plugin"],
    "check_untyped_defs": True,
    "ignore_missing_imports": True,
    "show_traceback": True,
}


@final
@dataclass(frozen=True, slots=True)
class Finding:
    """One complaint; ``line`` and ``column`` count from 1. ``code`` is ``shape``, ``syntax``, ``config``, ``hidden`` or
    ``damage``.
    """

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


def findings(files: Sequence[str], mypy: Mypy | None = None) -> list[Finding]:
    """What the plugin says about ``files``, in the order of files and lines; `TypednnError` where mypy could not do its
    work.

    ``mypy`` runs it; by default once, with its cache.
    """
    for file in files:
        if file != file.encode(errors="replace").decode():
            raise ArgumentError(explain(file, "mypy reads paths in UTF-8", "bytes that are none", "rename it"))
    settings = user_settings(files[0])
    options = _OPTIONS | {
        name: getattr(settings, name) for name in ("namespace_packages", "explicit_package_bases", "mypy_path")
    }
    if hasattr(settings, "native_parser"):
        # That parser reads files past an editor's texts, and its columns are wrong on lines that are not ASCII (mypy
        # 2.4.1).
        options["native_parser"] = False
    mypy = OnceMypy(files[0], _cache(settings.cache_dir)) if mypy is None else mypy
    if isinstance(mypy, KeptMypy):
        options["mypy_path"] = [*settings.mypy_path, *(each for each in source_folders(files) if each != os.getcwd())]
    texts = {file: _content(file, mypy) for file in files}
    hidden = hidden_by(files, settings.mypy_path)
    if hidden:
        message = (
            "no size can be checked: "
            f"{', '.join(f'{place} hides the package {name}' for name, place in hidden.items())}; rename it"
        )
        return [Finding(file, import_line(text), 1, message, "hidden") for file, text in texts.items()]
    aside = hiding(files)  # in an editor, not on the disk
    told = [
        Finding(file, 1, 1, f"hides the package {name}: nothing here is checked; rename it", "hidden")
        for file, name in aside.items()
    ]
    texts = {file: text for file, text in texts.items() if file not in aside}
    files = [*texts]
    faulty = [finding for file, text in texts.items() if (finding := _syntax_error(file, text)) is not None]
    unread = [finding.path for finding in faulty]
    if isinstance(mypy, KeptMypy):
        mypy.read({file: None if file in unread else text for file, text in texts.items()})
        unread = []
    names = sorted(set(map(module_name, unread)))
    batches = enumerate(_batches(files, unread))
    found = {
        *told,
        *faulty,
        *(finding for place, batch in batches for finding in _of_batch(mypy, place, batch, names, options)),
    }
    order = {os.path.abspath(file): place for place, file in enumerate([*files, *aside])}
    return sorted(
        found, key=lambda one: (order.get(os.path.abspath(one.path), len(order)), one.line, one.column, one.message)
    )


def known_facts(files: Sequence[str]) -> "tuple[list[Finding], dict[str, ModuleFacts]]":
    """The findings, and what the plugin knows of each file, by absolute path."""
    mypy = OnceMypy(files[0], _cache(user_settings(files[0]).cache_dir), facts=True)
    return findings(files, mypy), mypy.known or {}


def _content(file: str, mypy: Mypy) -> bytes:
    text = mypy.text(file)
    return Path(file).read_bytes() if text is None else text


def _syntax_error(file: str, text: bytes) -> Finding | None:
    """Python's own complaint about a file that it cannot parse. mypy would stop there, and check no other file."""
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(text).readline)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(io.TextIOWrapper(io.BytesIO(text), encoding).read(), file, "exec", dont_inherit=True)
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


def _of_batch(
    mypy: Mypy, place: int, files: Sequence[str], unread: Sequence[str], options: Mapping[str, object]
) -> list[Finding]:
    """What mypy finds. ``unread`` modules cannot be parsed; they are not followed, so that those which import them are
    checked as well.
    """
    if mypy.bases_needed:
        options = {**options, "namespace_packages": True, "explicit_package_bases": True}
    configuration = ["[tool.mypy]", *(f"{key} = {written(value)}" for key, value in options.items())]
    if unread:
        configuration += ["[[tool.mypy.overrides]]", f"module = {written(unread)}", 'follow_imports = "skip"']
    output, errors, code = mypy.run("\n".join(configuration), files, place)
    if "INTERNAL ERROR" in errors:
        raise TypednnError(_crash(output, errors))
    lines = [line for line in f"{output}\n{errors}".splitlines() if line and not line.startswith("Found ")]
    objects, prose = _objects(lines), [line for line in lines if not line.startswith("{")]
    if (
        any(_TWICE in text for text in (*prose, *(one["message"] for one in objects)))
        and not options["explicit_package_bases"]
    ):
        # Files of a folder without __init__.py that import each other by its name.
        mypy.bases_needed = True
        return _of_batch(mypy, place, files, unread, options)
    stopped = code not in (0, 1)
    reported = list(_reported(objects, files, everything=stopped))
    for one in objects:
        if one["severity"] == "note" and one["code"] == "shape" and (file := _named(one["file"], files)) is not None:
            warnings.warn(f"{file}:{one['line']}: {one['message']}", stacklevel=2)
    if stopped and not reported:
        raise TypednnError("\n".join(["mypy stopped before the end:", *prose]))
    imported = {module_name(one.path) for one in reported if one.code == "syntax" and one.path not in files} - set(
        unread
    )
    return reported + _of_batch(mypy, place, files, [*unread, *sorted(imported)], options) if imported else reported


def _crash(output: str, errors: str) -> str:
    """What to tell of a crash of mypy, and where all is kept that it printed."""
    place = re.search(r"^(.*?):?(\d*): error: INTERNAL ERROR", errors, re.MULTILINE)
    where = ":".join(filter(None, place.groups())) if place is not None else ""
    raised = [line for line in output.splitlines() if re.match(r"[A-Za-z_][\w.]*(: |$)", line)][-1:]
    with tempfile.NamedTemporaryFile(
        "w", prefix="typednn-crash-", suffix=".txt", delete=False, encoding="utf-8"
    ) as kept:
        kept.write(f"typednn {__version__}\n{output}\n{errors}")
    got = f"{' '.join(raised) or 'a crash'}{f', at {where}' if where else ''}"
    cure = f"nothing was checked; please report it, with this file and the program: {kept.name}"
    return explain(
        "mypy",
        "reads every program to its end; this is a fault of mypy or of typednn's plugin, not of yours",
        got,
        cure,
    )


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
            yield Finding(
                file or one["file"], max(1, one["line"]), max(1, one["column"] + 1), message, one["code"] or "mypy"
            )


def _named(path: str, files: Sequence[str]) -> str | None:
    """Which of ``files`` mypy reports on. Of a file that was copied or moved it may name the earlier path, from its
    cache.
    """
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
