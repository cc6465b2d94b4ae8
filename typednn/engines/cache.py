"""Compiled kernels on disk: the second process finds what the first has compiled.

An entry is one shared library whose last bytes are a digest of its content and its own key, so that a truncated, damaged or renamed
file is noticed before it is loaded, and built again. Entries appear by renaming a finished file: several processes may build one at once.
They lie in ``TYPEDNN_CACHE``, or else in ``typednn/kernels`` of the user's cache folder; where that can't be written, in a folder of
this process alone. Deleting the folder is always safe.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path

_MARK = b"typednn\n"
_TRAILER = len(_MARK) + 32


def digest(*parts: str | bytes) -> str:
    """A key from ``parts``: equal only where every part is."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:32]


def entry(key: str, build: Callable[[Path], None]) -> Path:
    """The library of ``key``: found, or made by ``build(path)``, which writes a new file at ``path``."""
    folder = _folder()
    path = folder / f"{key}.so"
    if _is_whole(path, key):
        return path
    try:
        return _made(folder, key, build)
    except OSError as error:
        if folder == _own_folder():
            raise
        _warn(folder, error)
        path = _own_folder() / f"{key}.so"
        return path if _is_whole(path, key) else _made(_own_folder(), key, build)


def _made(folder: Path, key: str, build: Callable[[Path], None]) -> Path:
    path = folder / f"{key}.so"
    with tempfile.TemporaryDirectory(prefix="building-", dir=folder) as workshop:
        made = Path(workshop) / path.name
        build(made)
        content = made.read_bytes()
        with made.open("ab") as file:
            file.write(_MARK + _seal(content, key))
            file.flush()
            os.fsync(file.fileno())
        made.replace(path)
    return path


def _is_whole(path: Path, key: str) -> bool:
    try:
        data = path.read_bytes()
    except OSError:
        return False
    return data[-_TRAILER:] == _MARK + _seal(data[:-_TRAILER], key)


def _seal(content: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


def _folder() -> Path:
    """Where entries are kept: the user's folder if it can be written, else this process's own."""
    told = os.environ.get("TYPEDNN_CACHE")
    home = os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()
    folder = Path(told).expanduser() if told else Path(home) / "typednn" / "kernels"
    return folder if _writable(folder) else _own_folder()


@cache
def _writable(folder: Path) -> bool:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError as error:
        _warn(folder, error)
        return False


@cache
def _warn(folder: Path, error: OSError) -> None:
    why = error.strerror or str(error)
    warnings.warn(
        f"{folder} can't keep compiled kernels ({why}): they last for this process only; set TYPEDNN_CACHE to a folder that can be written",
        RuntimeWarning,
        stacklevel=2,
    )


@cache
def _own_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="typednn-kernels-"))
    owner = os.getpid()

    def remove() -> None:
        if os.getpid() == owner:  # a forked child goes on using its parent's
            shutil.rmtree(folder, ignore_errors=True)

    atexit.register(remove)
    return folder
