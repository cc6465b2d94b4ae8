"""``[tool.typednn-mypy]`` in pyproject.toml, ``[typednn-mypy]`` in mypy.ini or setup.cfg: beside mypy's own settings.

report_unknown   a note wherever a size is lost, so that nothing is proven from there
debug            show an exception inside the plugin, which otherwise only costs the knowledge about one expression
"""

from __future__ import annotations

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
    """The options in mypy's configuration file; a file that mypy could not read either has none."""
    section: dict[str, Any] = {}
    try:
        if path is not None and path.endswith(".toml"):
            section = tomllib.loads(Path(path).read_text(encoding="utf-8")).get("tool", {}).get("typednn-mypy", {})
        elif path is not None:
            parser = configparser.ConfigParser()
            parser.read(path, encoding="utf-8")
            section = dict(parser["typednn-mypy"]) if parser.has_section("typednn-mypy") else {}
    except (OSError, ValueError, configparser.Error):
        return Options()
    return Options(**{name: str(section.get(name, "")).lower() in ("true", "1", "yes", "on") for name in ("report_unknown", "debug")})
