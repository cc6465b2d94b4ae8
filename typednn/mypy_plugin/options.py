"""``[tool.typednn-mypy]`` in pyproject.toml, ``[typednn-mypy]`` in mypy.ini or setup.cfg: beside mypy's own settings.

report_unknown   a note wherever something is not proven, and why
debug            show an exception inside the plugin, which is otherwise silent and leaves one expression unknown
"""

import configparser
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, cast

from typednn.errors import SURE, ArgumentError, closest, explain, shown

_TABLE = "typednn-mypy"
_WORDS = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


@dataclass(frozen=True)
class Options:
    """What the user's configuration says."""

    report_unknown: bool = False
    debug: bool = False


def read(path: str | None) -> Options:
    """The options in mypy's configuration file; none in a file that mypy could not read either.

    `ArgumentError` about a name or a value that there is not.
    """
    tables: Any = configparser.ConfigParser(interpolation=None)
    toml = path is not None and path.endswith(".toml")
    try:
        if path is not None and toml:
            tables = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("tool", {})
        elif path is not None:
            tables.read(path, encoding="utf-8")
    except (OSError, ValueError, configparser.Error):
        return Options()
    where, prefix = os.path.relpath(path) if path else "", "tool." if toml else ""
    every = cast("Mapping[str, object]", tables if isinstance(tables, Mapping) else {})
    for name in every:
        if name != _TABLE and name.lower().replace("_", "-").startswith("typednn"):
            raise ArgumentError(
                explain(
                    where, "has typednn's settings in one table", f"[{prefix}{name}]", f"name it [{prefix}{_TABLE}]"
                )
            )
    section: object = {**every}.get(_TABLE, {})  # a ConfigParser has another get
    where = f"{where}: [{prefix}{_TABLE}]"
    if not isinstance(section, Mapping):
        raise ArgumentError(explain(where, "expects a table", shown(section)))
    written = cast("Mapping[str, object]", section)
    return Options(
        **{name: _switch(where, name, value) for name, value in written.items() if name not in _defaults(tables)}
    )


def _defaults(tables: Any) -> Mapping[str, str]:
    """What an ini file's ``[DEFAULT]`` gives to every table."""
    return tables.defaults() if isinstance(tables, configparser.ConfigParser) else {}


def _switch(where: str, name: str, value: object) -> bool:
    known = [each.name for each in fields(Options)]
    if name not in known:
        near = closest(name, known, SURE)
        raise ArgumentError(
            explain(
                where,
                "expects a setting that there is",
                name,
                f"did you mean {near}?" if near else f"there are {' and '.join(known)}",
            )
        )
    word = str(value).strip().lower()
    if word not in _WORDS:
        raise ArgumentError(explain(where, f"{name} expects true or false", shown(value)))
    return _WORDS[word]
