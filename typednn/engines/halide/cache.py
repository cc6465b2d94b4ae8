"""Compiled kernels on disk, shared by processes.

An entry is one shared library whose last bytes are a digest of its content and its own key, so that a truncated,
damaged or renamed file is noticed before it is loaded, and built again. A finished file is renamed to its entry, so
several processes may build one at once. Entries are kept in ``TYPEDNN_CACHE``, or else in ``typednn/kernels`` of the
user's cache folder; where that can't be used, in a folder of this process alone. Where there are many, those used
longest ago are removed when some are added. Deleting the folder is always safe.

Loading an entry runs its code, so folder and entry must belong to the user and be writable by nobody else. The folder
is opened once and used through its descriptor only: the file loaded is the file checked, even if folders above it are
renamed.
"""

import atexit
import hashlib
import os
import shutil
import stat
import tempfile
import time
import warnings
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from itertools import count
from pathlib import Path

from typednn import system

_MARK = b"typednn\n"
_TRAILER = len(_MARK) + 32

# Files and folders with these prefixes are locked by a running process, or were left by a killed one.
_UNFINISHED = "building-"
_PRIVATE = "typednn-building-"
_YOUNG = 60.0  # seconds within which it may not be locked yet, or not loaded yet

_ROOM = 8 * 2**20  # bytes on disk that a compilation needs at most

# What the folder may hold: sixteen times what one process may load, of 30 KB each.
_ENTRIES = 16_384
_BYTES = 512 * 2**20
# entries that a process adds before it looks at all of them again, which takes 0.1 s where there are many
_TRIMMED = 64
_added = count()


def digest(*parts: str | bytes) -> str:
    """A key from ``parts``: equal only where every part is."""
    encoded = [part.encode() if isinstance(part, str) else part for part in parts]
    return hashlib.sha256(b"".join(len(data).to_bytes(8, "little") + data for data in encoded)).hexdigest()[:32]


@contextmanager
def entry(key: str, build: Callable[[Path], None]) -> Generator[Path]:
    """The library of ``key``: found, or made by ``build(path)``, which writes a file at ``path``. Its path is valid
    within the block.
    """
    with ExitStack() as opened:
        yield _library(f"{key}.so", key, build, opened)


def has(key: str) -> bool:
    """Whether the library of ``key`` is there."""
    with ExitStack() as opened:
        return _found(f"{key}.so", key, opened)[2] is not None


def _found(name: str, key: str, opened: ExitStack) -> tuple[Path | None, Path | None, Path | None]:
    """The user's folder, a path to it if its entries may be loaded, and the undamaged library there or in this
    process's folder.
    """
    users = _users_folder()
    safe = None if users is None else _through_descriptor(users, opened)
    paths = [folder / name for folder in (safe, _own) if folder is not None]
    for path in paths:
        with suppress(OSError):
            os.utime(path, follow_symlinks=False)  # used now; first, so that no other process removes it meanwhile
    return users, safe, next((path for path in paths if _is_undamaged(path, key)), None)


def _library(name: str, key: str, build: Callable[[Path], None], opened: ExitStack) -> Path:
    """The library of ``key``, called ``name``, which is built if it is missing."""
    users, safe, found = _found(name, key, opened)
    if found is not None:
        return found
    if safe is not None:
        _sweep(safe, _UNFINISHED)
    _sweep(Path(tempfile.gettempdir()), _PRIVATE)
    with build_folder() as folder:
        build(folder / name)
        content = (folder / name).read_bytes()
    content += _MARK + _seal(content, key)
    if users is not None and safe is not None:
        try:
            stored = _stored(content, safe / name)
            if next(_added) % _TRIMMED == 0:
                _trim(safe)
            return stored
        except OSError as error:
            _warn(users, error.strerror or str(error))
    return _stored(content, _own_folder() / name)


def _seal(content: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


def _is_undamaged(path: Path, key: str) -> bool:
    """Whether this is an undamaged file of the user's that nobody else can write. Opening a pipe must not wait."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | system.OWN), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode) or _distrust(state) or state.st_size < _TRAILER:
                return False
            file.seek(-_TRAILER, os.SEEK_END)
            trailer = file.read()
            if not trailer.startswith(_MARK):  # don't read a large foreign file
                return False
            file.seek(0)
            return trailer == _MARK + _seal(file.read(state.st_size - _TRAILER), key)
    except OSError:
        return False


def _distrust(state: os.stat_result) -> str:
    """Why someone else may have written it; empty if nobody can."""
    if state.st_uid != system.user():
        return f"it belongs to user {state.st_uid}, not to {system.user()}"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write to it: mode {stat.S_IMODE(state.st_mode):03o}, chmod go-w"
    return ""


def _stored(content: bytes, path: Path) -> Path:
    """Write the entry at ``path``, by way of a file in the same folder that is renamed when it is complete."""
    descriptor, unfinished = tempfile.mkstemp(prefix=_UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _lock(descriptor)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
            return Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _users_folder() -> Path | None:
    """The folder of the user's entries; None, with a warning, where there is no home folder."""
    configured = os.environ.get("TYPEDNN_CACHE")
    folder = (
        Path(configured) if configured else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "typednn", "kernels")
    )
    try:
        return folder.expanduser()
    except RuntimeError as error:
        _warn(folder, str(error))
        return None


def _through_descriptor(folder: Path, opened: ExitStack) -> Path | None:
    """A path to ``folder`` that stays valid when it is renamed; None, with a warning, where its entries must not be
    loaded.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = system.open_folder(folder)
        if descriptor is None:
            why = "this system opens no folders"
        else:
            opened.callback(os.close, descriptor)
            through = system.folder_of(descriptor)
            why = _distrust(os.fstat(descriptor)) or ("" if through.is_dir() else "/proc is not mounted")
            if not why:
                return through
    except OSError as error:
        why = error.strerror or str(error)
    _warn(folder, why)
    return None


@cache
def _warn(folder: Path, why: str) -> None:
    """Warn once for each folder and reason."""
    warnings.warn(
        f"{folder} can't keep compiled kernels ({why}): they last for this process only; "
        "set TYPEDNN_CACHE to a folder of your own that nobody else can write to",
        RuntimeWarning,
        stacklevel=2,
    )


_own: Path | None = None


def _own_folder() -> Path:
    """A folder for the entries of this process, and of the children that it forks."""
    global _own
    if _own is None:
        _own = folder = Path(tempfile.mkdtemp(prefix=_PRIVATE))
        _lock_folder(folder)
        owner = os.getpid()

        def remove() -> None:
            if os.getpid() == owner:
                shutil.rmtree(folder, ignore_errors=True)

        atexit.register(remove)
    return _own


def _lock(descriptor: int, *, wait: bool = True) -> bool:
    """Lock the file until the descriptor is closed; False if another process has it, or the file system
    has no locks.
    """
    try:
        system.lock(descriptor, wait=wait)
    except OSError:
        return False
    return True


def _lock_folder(folder: str | Path) -> int | None:
    """The descriptor that locks a folder until it is closed, where folders are locked."""
    descriptor = system.open_folder(folder)
    if descriptor is not None:
        _lock(descriptor)
    return descriptor


@contextmanager
def build_folder() -> Generator[Path]:
    """A private folder for one compilation."""
    with tempfile.TemporaryDirectory(prefix=_PRIVATE) as folder:
        descriptor = _lock_folder(folder)
        try:
            with open(Path(folder, "room"), "wb") as file:  # LLVM ends the process when the disk is full
                system.reserve(file.fileno(), _ROOM)
            os.unlink(file.name)
            yield Path(folder)
        finally:
            if descriptor is not None:
                os.close(descriptor)


def _sweep(folder: Path, prefix: str) -> None:
    """Remove the files of killed compilations: the user's own, and not locked."""
    with suppress(OSError):
        for left in folder.glob(f"{prefix}*"):
            with suppress(OSError):
                _remove_if_left(left)


def _trim(folder: Path) -> None:
    """Remove the entries used longest ago, until the others are few enough. Processes that have loaded one keep it.

    Damaged files and those of others stay, and so do entries that were used a moment ago: a process may be loading one.
    """
    with suppress(OSError):
        states = [(path, path.lstat()) for path in folder.glob("*.so")]
        held = 0
        for number, (path, state) in enumerate(sorted(states, key=lambda each: -each[1].st_mtime)):
            held += state.st_size
            if (number >= _ENTRIES or held > _BYTES) and _is_undamaged(path, path.stem):
                with suppress(OSError):
                    _remove_if_left(path)


def _remove_if_left(path: Path) -> None:
    """Remove a file or folder of the user's own that is not locked, and was not written or used a moment ago."""
    descriptor = os.open(path, os.O_RDONLY | system.OWN)
    try:
        state = os.fstat(descriptor)
        if state.st_uid != system.user() or time.time() - state.st_mtime < _YOUNG or not _lock(descriptor, wait=False):
            return
        if stat.S_ISDIR(state.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(state.st_mode):
            path.unlink()
    finally:
        os.close(descriptor)
