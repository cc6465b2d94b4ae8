"""Ctrl-C where an exception would not arrive: during imports, which NumPy turns into an ImportError, and during garbage
collection.
"""

import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

_SOON = 0.05  # seconds


@contextmanager
def deferred() -> Generator[None]:
    """Delay Ctrl-C within this block to a KeyboardInterrupt at its end."""
    # A caller's own handler is left alone; signals reach the main thread only.
    if (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        or threading.current_thread() is not threading.main_thread()
    ):
        yield
        return
    received: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: received.append(number))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if received:
            raise KeyboardInterrupt


@contextmanager
def repeated() -> Generator[None]:
    """Within this block a signal that comes while a finalizer or a callback of garbage collection runs comes again a
    moment later.

    Python prints and drops what is raised there: the user would see another library's traceback, and the program would
    go on.
    """
    before = sys.unraisablehook

    def hook(unraisable: Any) -> None:
        error = unraisable.exc_value
        ended = isinstance(error, SystemExit) and error.code == 128 + signal.SIGTERM
        number = signal.SIGINT if isinstance(error, KeyboardInterrupt) else signal.SIGTERM if ended else None
        if number is None:
            before(unraisable)
        else:
            again = threading.Timer(_SOON, signal.raise_signal, [number])
            again.daemon = True
            again.start()

    sys.unraisablehook = hook
    try:
        yield
    finally:
        sys.unraisablehook = before
