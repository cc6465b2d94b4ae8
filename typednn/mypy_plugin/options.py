"""``[tool.typednn-mypy]`` in pyproject.toml, ``[typednn-mypy]`` in mypy.ini or setup.cfg: beside mypy's own settings.

report_unknown   a note wherever a size is lost, so that nothing is proven from there
debug            show an exception inside the plugin, which is otherwise silent and leaves one expression unknown
"""

import configparser
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Options:
    """What the user's configuration says."""

    report_unknown: bool = False
    debug: bool = False


def read(path: str | None) -> Options:
    """The options in mypy's configuration file; none in a file that mypy could not read either."""
    tables: Any = configparser.ConfigParser()
    try:
        if path is not None and path.endswith(".toml"):
            tables = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("tool", {})
        elif path is not None:
            tables.read(path, encoding="utf-8")
    except (OSError, ValueError, configparser.Error):
        return Options()
    section = dict(tables).get("typednn-mypy", {})
    return Options(**{name: str(section.get(name, "")).lower() in ("true", "1", "yes", "on") for name in ("report_unknown", "debug")})
