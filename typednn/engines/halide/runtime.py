"""Halide's runtime, one for all kernels of a process: their threads, and what happens when a kernel complains.

By default a complaint ends the process. Here it is kept for `complaint`, and the kernel returns a code.
"""

import ctypes
import os
import shutil
import threading
from functools import cache
from pathlib import Path

from typednn.engines import threads
from typednn.engines.halide import cache as on_disk
from typednn.engines.halide import toolchain
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


def _one_by_one(context: int | None, task: int, first: int, count: int, closure: int | None) -> int:
    """A parallel loop on this thread alone."""
    run = _Task(task)
    return next((code for number in range(first, first + count) if (code := run(context, number, closure))), 0)


# As long as the library may call them.
_handler = _Handler(_keep)
_loop = _Loop(_one_by_one)

_left_to_child = False  # whether the last fork left the pool running
_orphaned = False  # whether this process is a child of such a fork


def complaint() -> str:
    """What the last kernel that failed had to say."""
    return _complaint


@cache
def key() -> str:
    """The runtime's place in the cache; a kernel compiled for another runtime is another kernel."""
    return on_disk.digest("runtime", *toolchain.fingerprint())


def copy(to: Path) -> None:
    """Write the runtime's library to ``to``, for the linker; compiled if it has to be."""
    with on_disk.entry(key(), _build) as library:
        shutil.copyfile(library, to)


def _build(library: Path) -> None:
    compiled = library.with_name("runtime.o")
    toolchain.compile_runtime(compiled, toolchain.host())
    toolchain.link([compiled], library, soname())


def soname() -> str:
    """The name under which kernels need the runtime: once it is loaded, the loader looks for no file."""
    return f"typednn-{key()}.so"


def load() -> None:
    """Have the runtime in this process, with our error handler and thread count."""
    global _library
    with _lock():
        if _library is None:
            with on_disk.entry(key(), _build) as path:
                library = ctypes.CDLL(str(path), mode=os.RTLD_NOW)
            library.halide_set_error_handler.restype = ctypes.c_void_p
            library.halide_set_error_handler(_handler)
            _library = library
            threads.follow(_set_threads)


def _set_threads(count: int) -> None:
    if _library is not None and not _orphaned:
        # A pool that has started keeps its size: it has to end first.
        _library.halide_shutdown_thread_pool()
        _library.halide_set_num_threads(count)


def _before_fork() -> None:
    """End the pool, so that parent and child each start their own; not where another Python thread may be running a kernel."""
    global _left_to_child
    _left_to_child = threading.active_count() > 1
    if _library is not None and not _left_to_child and not _orphaned:
        _library.halide_shutdown_thread_pool()


def _after_fork() -> None:
    """A child that inherits the pool's record, perhaps locked, without the pool's threads, leaves it alone: it computes on one core."""
    global _orphaned
    if _library is not None and _left_to_child:
        _orphaned = True
        _library.halide_set_custom_do_par_for(_loop)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_child=_after_fork)
