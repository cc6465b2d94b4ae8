"""A system without POSIX, as far as one can be had on Linux: the command line of typednn there.

    python without_posix.py [--locks] ARGUMENT ...

Modules and functions that Windows lacks are gone, folders cannot be opened, a file is not renamed over another, nor
while this process has it open, and signal 0 would end a process. /proc and /sys are not there, and no Halide. With
``--locks`` there is Windows' `msvcrt`, whose locks are those of Linux.
"""

import builtins
import errno
import fcntl
import io
import logging
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import types
from concurrent import futures
from pathlib import Path
from typing import Any

import numpy

# They ask for POSIX at their first import, and get what Windows has there.
STANDARD = (futures, logging, numpy.random, random, subprocess, tempfile, threading)
# tensorboardX would import PyTorch, which asks for the name of the system.
MODULES = ("fcntl", "grp", "halide", "pwd", "resource", "sklearn", "termios", "torch")
NAMES = (
    *(
        "O_CLOEXEC",
        "O_DIRECTORY",
        "O_NOFOLLOW",
        "O_NONBLOCK",
        "fork",
        "forkpty",
        "geteuid",
        "getuid",
        "killpg",
        "mkfifo",
    ),
    *("posix_fallocate", "pread", "pwrite", "register_at_fork", "sched_getaffinity", "setsid", "statvfs", "sysconf"),
)


def locking(descriptor: int, mode: int, count: int) -> None:
    """Windows': of bytes from the position on; who is refused gets a PermissionError."""
    at = os.lseek(descriptor, 0, os.SEEK_CUR)
    assert at >= os.fstat(descriptor).st_size, "nobody else could read what is locked"
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, count, at)
    except OSError:
        raise PermissionError(errno.EACCES, "Permission denied") from None


def without_posix(locks: bool) -> None:
    """Take POSIX away from this process."""
    real = {name: getattr(os, name) for name in ("open", "replace", "kill")}
    really, held = io.open, os.listdir

    def opened(path: Any, flags: int, *mode: Any, **named: Any) -> int:
        if os.path.isdir(path):
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return int(real["open"](path, flags, *mode, **named))

    def read(path: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(path, str | os.PathLike) and str(path).startswith(("/proc", "/sys")):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", str(path))
        return really(path, *arguments, **named)

    def replaced(source: Any, target: Any) -> None:
        whose = os.stat(source).st_ino
        for number in held("/proc/self/fd"):
            try:
                taken = os.fstat(int(number)).st_ino == whose
            except OSError:
                continue
            if taken:
                raise PermissionError(errno.EACCES, "it is open", str(source))
        real["replace"](source, target)

    def renamed(source: Any, target: Any) -> None:
        if os.path.exists(target):
            raise FileExistsError(errno.EEXIST, "File exists", str(target))
        replaced(source, target)

    def killed(process: int, signal: int) -> None:
        assert signal != 0, "on Windows it would have ended"
        real["kill"](process, signal)

    for name in MODULES:
        sys.modules[name] = None  # type: ignore[assignment]
    for name in NAMES:
        delattr(os, name)
    for name, function in {"open": opened, "rename": renamed, "replace": replaced, "kill": killed}.items():
        setattr(os, name, function)
    for module in (builtins, io):
        setattr(module, "open", read)  # noqa: B010  # it has another type
    shutil._use_fd_functions = False  # type: ignore[attr-defined]  # it opens folders where that goes
    if locks:
        windows = types.ModuleType("msvcrt")
        windows.__dict__.update(locking=locking, LK_LOCK=1, LK_NBLCK=2)
        sys.modules["msvcrt"] = windows


if __name__ == "__main__":
    locks = "--locks" in sys.argv
    without_posix(locks)
    sys.path[0] = str(Path(__file__).parents[2])
    from typednn.cli import main

    sys.exit(main([argument for argument in sys.argv[1:] if argument != "--locks"]))
