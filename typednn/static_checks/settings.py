"""What the user's mypy configuration says about finding modules."""

import configparser
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, final

from typednn.errors import ArgumentError

_CONFIG_FILES = ("mypy.ini", ".mypy.ini", "pyproject.toml", "setup.cfg")


@final
@dataclass(frozen=True, slots=True)
class Settings:
    """mypy's settings of these names, with its defaults."""

    mypy_path: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    namespace_packages: bool = True
    explicit_package_bases: bool = False
    cache_dir: str = ".mypy_cache"


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
