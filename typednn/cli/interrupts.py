"""Ctrl-C during imports is handled after them: NumPy, for example, would turn it into an ImportError."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def deferred() -> Generator[None]:
    """Delay Ctrl-C within this block to a KeyboardInterrupt at its end."""
    # A caller's own handler is left alone; signals reach the main thread only.
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler or threading.current_thread() is not threading.main_thread():
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
