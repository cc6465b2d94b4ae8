"""Halide's runtime, one for all kernels of a process: their threads, and what happens when a kernel complains.

By default an error ends the process. Here its message is kept for `complaint`, and the kernel returns a code.
"""

import ctypes
import shutil
import threading
from functools import cache
from pathlib import Path

from typednn import system
from typednn.engines import threads
from typednn.engines.halide import cache as on_disk
from typednn.engines.halide import parallel, toolchain
from typednn.engines.halide.parallel import Job
from typednn.engines.locks import Lock

_lock = Lock()
_library: ctypes.CDLL | None = None
_complaint = ""

_Handler = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
_Task = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
_Loop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)


def _keep(_context: int | None, text: bytes) -> None:
    global _complaint
    _complaint = text.decode(errors="replace").strip()


def _sequential_loop(context: int | None, task: int, first: int, count: int, closure: int | None) -> int:
    """A parallel loop, run on this thread alone."""
    run = _Task(task)
    return next((code for number in range(first, first + count) if (code := run(context, number, closure))), 0)


# Module-level, as the library may call them at any time.
_handler = _Handler(_keep)
_loop = _Loop(_sequential_loop)

_pool_kept_at_fork = False  # whether the pool was running at the last fork
_pool_lost = False  # whether this process is a child of such a fork, which has no threads of the pool


def complaint() -> str:
    """The error message of the last kernel that failed."""
    return _complaint


@cache
def key() -> str:
    """The runtime's key in the cache, and a part of every kernel's key."""
    return on_disk.digest("runtime", *toolchain.fingerprint())


def copy(to: Path) -> None:
    """Write the runtime's library to ``to``, for the linker; compiled if it has to be."""
    with on_disk.entry(key(), _build) as library:
        shutil.copyfile(library, to)


def _build(library: Path) -> None:
    toolchain.link([parallel.object_of(Job(key(), None), library.parent)], library, soname())


def soname() -> str:
    """The name under which kernels need the runtime: once it is loaded, the loader looks for no file."""
    return f"typednn-{key()}.so"


def load() -> None:
    """Load the runtime into this process, with our error handler and thread count."""
    global _library
    with _lock():
        if _library is None:
            with on_disk.entry(key(), _build) as path:
                library = ctypes.CDLL(str(path))
            library.halide_set_error_handler.restype = ctypes.c_void_p
            library.halide_set_error_handler(_handler)
            _library = library
            threads.follow(_set_threads)


def _set_threads(count: int) -> None:
    if _library is not None and not _pool_lost:
        # A running pool keeps its size, so it is shut down first.
        _library.halide_shutdown_thread_pool()
        _library.halide_set_num_threads(count)


def _before_fork() -> None:
    """End the pool, so that parent and child each start their own; but not while another Python thread may run a
    kernel.
    """
    global _pool_kept_at_fork
    _pool_kept_at_fork = threading.active_count() > 1
    if _library is not None and not _pool_kept_at_fork and not _pool_lost:
        _library.halide_shutdown_thread_pool()


def _after_fork() -> None:
    """Use no pool in a child that inherits the pool's state, perhaps locked, without its threads: the child computes on
    one core.
    """
    global _pool_lost
    if _library is not None and _pool_kept_at_fork:
        _pool_lost = True
        _library.halide_set_custom_do_par_for(_loop)


system.at_fork(before=_before_fork, child=_after_fork)
