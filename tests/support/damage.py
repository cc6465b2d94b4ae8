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


__all__ = ["rewritten"]
