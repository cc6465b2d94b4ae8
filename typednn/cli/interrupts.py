"""Ctrl-C during imports is handled after them: NumPy, for example, would turn it into an ImportError."""

import signal
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def deferred() -> Generator[None]:
    """Delay Ctrl-C within this block to a KeyboardInterrupt at its end."""
    came: list[int] = []
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # the caller has its own handler
        yield
        return
    try:
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    except ValueError:  # only the main thread gets signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if came:
            raise KeyboardInterrupt
