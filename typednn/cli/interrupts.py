"""Ctrl-C while modules are imported: answered when they are, as NumPy, for one, would make an ImportError of it."""

import signal
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def deferred() -> Generator[None]:
    """Ctrl-C within this block is KeyboardInterrupt at its end."""
    came: list[int] = []
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:  # the caller has other plans
        yield
        return
    try:
        signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    except ValueError:  # not the main thread, which is the one that is interrupted
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if came:
            raise KeyboardInterrupt
