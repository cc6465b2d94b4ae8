"""Damage that checksums don't show: a checkpoint's state changed by someone who knows how they are made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def rewritten(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """``state.json`` in a checkpoint's folder changed, and its checksum with it."""
    table = json.loads((folder / "state.json").read_text())
    del table["checksum"]
    change(table)
    text = json.dumps(table, sort_keys=True, separators=(",", ":"))
    (folder / "state.json").write_text(json.dumps({**table, "checksum": hashlib.sha256(text.encode()).hexdigest()}))


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value within ``value``."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [*([path] if path else []), *(place for key, each in inner for place in places(each, (*path, key)))]


def put(table: Any, path: tuple[Any, ...], value: Any) -> None:
    """``value`` in the place of what is at ``path``."""
    for key in path[:-1]:
        table = table[key]
    table[path[-1]] = value


WRONG: tuple[Any, ...] = (
    None,
    True,
    -1,
    0.5,
    2**63,
    2**128,
    10**400,
    -(10**400),
    1e308,
    "",
    "PCG64",
    [],
    [[3]],
    {},
    {"a": 1},
)
"""What may stand in the place of anything else in JSON."""

__all__ = ["WRONG", "places", "put", "rewritten"]
