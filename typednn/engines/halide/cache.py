"""Compiled kernels on disk: the second process finds what the first has compiled.

An entry is one shared library whose last bytes are a digest of its content and its own key, so that a truncated, damaged or renamed
file is noticed before it is loaded, and built again. Entries appear by renaming a finished file: several processes may build one at once.
They lie in ``TYPEDNN_CACHE``, or else in ``typednn/kernels`` of the user's cache folder; where that can't be used, in a folder of
this process alone. Deleting the folder is always safe.

Loading an entry runs its code, so folder and entry must belong to the user and be writable by nobody else. The folder is opened, and all
that happens to it goes through its descriptor: what was checked is what is loaded, whoever may rename the folders above it.
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
from pathlib import Path

_MARK = b"typednn\n"
_TRAILER = len(_MARK) + 32

# What begins so, in the user's folder and in that for temporary files, is locked by a process or was left by one that was killed.
_UNFINISHED = "building-"
_PRIVATE = "typednn-building-"
_YOUNG = 60.0  # seconds within which it may not be locked yet

_ROOM = 8 * 2**20  # bytes on disk that a compilation needs at most


def digest(*parts: str | bytes) -> str:
    """A key from ``parts``: equal only where every part is."""
    total = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        total.update(len(data).to_bytes(8, "little") + data)
    return total.hexdigest()[:32]


@contextmanager
def entry(key: str, build: Callable[[Path], None]) -> Generator[Path]:
    """The library of ``key``: found, or made by ``build(path)``, which writes a new file at ``path``. Its path is good within the block."""
    with ExitStack() as opened:
        yield _holder(f"{key}.so", key, build, opened) / f"{key}.so"


def _holder(name: str, key: str, build: Callable[[Path], None], opened: ExitStack) -> Path:
    """The folder that holds the entry of ``key``, now if not before."""
    users = _users_folder()
    safe = None if users is None else _through_descriptor(users, opened)
    for folder in (safe, _own):
        if folder is not None and _is_whole(folder / name, key):
            return folder
    if safe is not None:
        _sweep(safe, _UNFINISHED)
    _sweep(Path(tempfile.gettempdir()), _PRIVATE)
    with _workshop() as workshop:
        build(workshop / name)
        content = (workshop / name).read_bytes()
    content += _MARK + _seal(content, key)
    if users is not None and safe is not None:
        try:
            _keep(content, safe / name)
        except OSError as error:
            _warn(users, error.strerror or str(error))
        else:
            return safe
    _keep(content, _own_folder() / name)
    return _own_folder()


def _seal(content: bytes, key: str) -> bytes:
    return hashlib.sha256(key.encode() + content).digest()


def _is_whole(path: Path, key: str) -> bool:
    """Whether this is a file of the user's that nobody else can write, and nothing is missing or changed. Opening a pipe must not wait."""
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode) or _distrust(state) or state.st_size < _TRAILER:
                return False
            file.seek(-_TRAILER, os.SEEK_END)
            trailer = file.read()
            if not trailer.startswith(_MARK):  # such as a file of gigabytes
                return False
            file.seek(0)
            return trailer == _MARK + _seal(file.read(state.st_size - _TRAILER), key)
    except OSError:
        return False


def _distrust(state: os.stat_result) -> str:
    """Who else may have written it; empty if nobody."""
    if state.st_uid != os.geteuid():
        return f"it belongs to user {state.st_uid}, not to {os.geteuid()}"
    if state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        return f"others can write to it: mode {stat.S_IMODE(state.st_mode):03o}, chmod go-w"
    return ""


def _keep(content: bytes, path: Path) -> None:
    """Write the entry beside its place, and put it there when it is whole."""
    descriptor, unfinished = tempfile.mkstemp(prefix=_UNFINISHED, dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            _lock(descriptor)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
            Path(unfinished).replace(path)
    except BaseException:
        Path(unfinished).unlink(missing_ok=True)
        raise


def _users_folder() -> Path | None:
    """Where the user's entries are kept; None, with a warning, where no such folder can be named."""
    told = os.environ.get("TYPEDNN_CACHE")
    folder = Path(told) if told else Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "typednn", "kernels")
    try:
        return folder.expanduser()
    except RuntimeError as error:
        _warn(folder, str(error))
        return None


def _through_descriptor(folder: Path, opened: ExitStack) -> Path | None:
    """A path to ``folder`` that means this folder whatever is renamed; None, with a warning, where its entries must not be loaded."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, descriptor)
        through = Path(f"/proc/self/fd/{descriptor}")
        why = _distrust(os.fstat(descriptor)) or ("" if through.is_dir() else "/proc is not mounted")
        if not why:
            return through
    except OSError as error:
        why = error.strerror or str(error)
    _warn(folder, why)
    return None


@cache
def _warn(folder: Path, why: str) -> None:
    """Once for each folder and reason."""
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
        _lock(os.open(folder, os.O_RDONLY | os.O_CLOEXEC))
        owner = os.getpid()

        def remove() -> None:
            if os.getpid() == owner:
                shutil.rmtree(folder, ignore_errors=True)

        atexit.register(remove)
    return _own


def _lock(descriptor: int, *, wait: bool = True) -> bool:
    """Whether the file is now this process's, until the descriptor is closed; not every file system can tell."""
    import fcntl  # not on Windows, where kernels are compiled in memory

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


@contextmanager
def _workshop() -> Generator[Path]:
    """A private folder for one compilation."""
    with tempfile.TemporaryDirectory(prefix=_PRIVATE) as folder:
        descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            _lock(descriptor)
            with open(Path(folder, "room"), "wb") as file:  # LLVM ends the process when it can't write
                os.posix_fallocate(file.fileno(), 0, _ROOM)
            os.unlink(file.name)
            yield Path(folder)
        finally:
            os.close(descriptor)


def _sweep(folder: Path, prefix: str) -> None:
    """Remove what killed compilations have left: the user's own, and locked by nobody."""
    with suppress(OSError):
        for left in folder.glob(f"{prefix}*"):
            with suppress(OSError):
                _remove_if_left(left)


def _remove_if_left(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        state = os.fstat(descriptor)
        if state.st_uid != os.geteuid() or time.time() - state.st_mtime < _YOUNG or not _lock(descriptor, wait=False):
            return
        if stat.S_ISDIR(state.st_mode):
            shutil.rmtree(path, ignore_errors=True)
        elif stat.S_ISREG(state.st_mode):
            path.unlink()
    finally:
        os.close(descriptor)
