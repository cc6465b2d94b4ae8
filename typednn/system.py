"""system: what only some operating systems have, and what stands in its place elsewhere.

The one module that needs POSIX: locks, folders as open files, names of open files, memory, cores, processes, forks.
Everything else of typednn is the same everywhere. It is tested on Linux, and on Linux with these modules and functions
taken away (`tests/test_system.py`).
"""

import ctypes
import errno
import os
import re
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Final


def _module(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


_fcntl, _resource, _msvcrt = _module("fcntl"), _module("resource"), _module("msvcrt")
_POSIX: Final = _fcntl is not None

# For `os.open`: bytes are not changed, as the ends of lines on Windows would be, and opening a pipe does not wait.
PLAIN: Final[int] = getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
# The same, and a link is not followed.
OWN: Final[int] = PLAIN | getattr(os, "O_NOFOLLOW", 0)

_BEYOND = 1 << 30  # the byte of a file that Windows locks: it may be behind the end, and nobody reads or writes there
_PAUSES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # seconds between the tries of `rename`


# ------------------------------------------------------------------ files


def lock(descriptor: int, *, wait: bool = False) -> None:
    """Lock an open file, or folder, until it is closed or the process ends.

    A `BlockingIOError` where another process has it; another `OSError` where this system or disk has no locks.
    """
    if _POSIX:
        _fcntl.flock(descriptor, _fcntl.LOCK_EX if wait else _fcntl.LOCK_EX | _fcntl.LOCK_NB)
        return
    if _msvcrt is None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    before = os.lseek(descriptor, 0, os.SEEK_CUR)
    try:
        os.lseek(descriptor, _BEYOND, os.SEEK_SET)
        _msvcrt.locking(descriptor, _msvcrt.LK_LOCK if wait else _msvcrt.LK_NBLCK, 1)
    except PermissionError:
        raise BlockingIOError(errno.EWOULDBLOCK, os.strerror(errno.EWOULDBLOCK)) from None
    finally:
        os.lseek(descriptor, before, os.SEEK_SET)


def open_folder(folder: str | os.PathLike[str]) -> int | None:
    """A descriptor of ``folder``, by which it is locked or synced; None where folders cannot be opened."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY) if _POSIX else None


def sync_folder(folder: Path) -> None:
    """Write the names in ``folder`` to the disk; without effect where folders cannot be opened."""
    descriptor = open_folder(folder)
    if descriptor is not None:
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def rename(source: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Give a file the name ``target``, in place of a file that has it; or a folder, a name that is free.

    Windows refuses it while a program has either open, such as one that looks for viruses: then it is tried again for a
    second.
    """
    if _POSIX:
        os.rename(source, target)
        return
    for pause in _PAUSES:
        try:
            return os.replace(source, target)
        except PermissionError:
            time.sleep(pause)
    os.replace(source, target)


def rename_open(file: BinaryIO, source: Path, target: Path) -> None:
    """The same for a file that this process has open, and locked; where that has to be, it is closed first."""
    if not _POSIX:
        file.close()
    rename(source, target)


def folder_of(descriptor: int) -> Path:
    """A path to the folder that is open as ``descriptor``, which stays valid when it is renamed; Linux has them."""
    return Path(f"/proc/self/fd/{descriptor}")


def reserve(descriptor: int, size: int) -> None:
    """Take ``size`` bytes on the disk for an open file; an `OSError` where there is no room, as far as the system
    tells.
    """
    if hasattr(os, "posix_fallocate"):
        os.posix_fallocate(descriptor, 0, size)


# ------------------------------------------------------------------ memory, cores, processes


def give_back_memory() -> None:
    """Give freed memory back to the system; without effect where the C library is not glibc, which keeps it."""
    with suppress(AttributeError, OSError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@cache
def memory() -> int:
    """Bytes of memory that this machine has; `sys.maxsize` where the system does not tell."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return sys.maxsize


def free_memory() -> int:
    """Bytes of memory that this process may still take, as far as the system tells."""
    known = [
        _number_in("/proc/meminfo", r"MemAvailable:\s*(\d+) kB", 1024),
        _number_in("/sys/fs/cgroup/memory.max", r"(\d+)\s*", 1),  # the limit of a container, in version 2 of cgroups
        _number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", r"(\d+)\s*", 1),  # and in version 1
        memory(),
    ]
    if _resource is not None:
        most = _resource.getrlimit(_resource.RLIMIT_AS)[0]
        if most != _resource.RLIM_INFINITY:
            known.append(max(0, most - _addresses("self")))
    return min(number for number in known if number is not None)


def limit_memory(process: int, size: int) -> None:
    """Let ``process``, which this one has started, take ``size`` bytes more than now, and leave no dump of its memory;
    without effect where the system cannot.
    """
    with suppress(AttributeError, OSError, ValueError):  # prlimit is Linux's
        most = _addresses(str(process)) + size
        _resource.prlimit(process, _resource.RLIMIT_AS, (most, _resource.prlimit(process, _resource.RLIMIT_AS)[1]))
        _resource.prlimit(process, _resource.RLIMIT_CORE, (0, 0))


def _addresses(process: str) -> int:
    """Bytes of addresses that a process has taken; 0 where the system does not tell."""
    return _number_in(f"/proc/{process}/statm", r"(\d+)", _resource.getpagesize()) or 0


def _number_in(file: str, pattern: str, unit: int) -> int | None:
    with suppress(OSError, ValueError), open(file, encoding="ascii") as text:
        match = re.search(pattern, text.read(4096))
        return int(match[1]) * unit if match else None
    return None


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0)) or 1
    return os.cpu_count() or 1


def processor_text() -> str:
    """What Linux tells of the processor, a paragraph for each core; nothing elsewhere."""
    with suppress(OSError):
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return ""


def user() -> int | None:
    """The number of the user that files of this process belong to; None where users have none."""
    return os.geteuid() if hasattr(os, "geteuid") else None


def runs(process: int) -> bool:
    """Whether this process runs here, as far as the system tells."""
    if not _POSIX:  # elsewhere signal 0 ends a process
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def at_fork(
    *,
    before: Callable[[], object] | None = None,
    parent: Callable[[], object] | None = None,
    child: Callable[[], object] | None = None,
) -> None:
    """Have these called at each fork of this process, in the parent and in the child after it; without effect where
    processes are not forked.
    """
    if hasattr(os, "register_at_fork"):
        nothing: Callable[[], object] = tuple
        os.register_at_fork(
            before=before or nothing, after_in_parent=parent or nothing, after_in_child=child or nothing
        )
