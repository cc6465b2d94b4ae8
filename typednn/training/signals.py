"""Ctrl-C and SIGTERM, handled at the end of a step. A second signal acts at once, as without this module.

Before the first step there is nothing to save, and compiling kernels may take a minute: then the first signal acts at
once too.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn


@dataclass(slots=True)
class Stop:
    """The signal that was received, if any."""

    signal: signal.Signals | None = None
    at_once: bool = True  # whether a signal acts at once; `typednn.training.session` makes it False at the first update

    def leave(self) -> NoReturn:
        """End as the signal would: KeyboardInterrupt after Ctrl-C, SystemExit(143) after SIGTERM."""
        if self.signal is signal.SIGTERM:
            raise SystemExit(128 + signal.SIGTERM)  # the exit code that shells use
        raise KeyboardInterrupt


@contextmanager
def stopping(stop: Stop, note: str) -> Generator[None, None, None]:
    """In this block SIGINT and SIGTERM only set ``stop.signal``, once, and print ``note``; afterwards the handlers are
    restored.

    Only the main thread receives signals: in another thread this does nothing.
    """
    before: dict[signal.Signals, Any] = {}

    def received(number: int, _: FrameType | None) -> None:
        stop.signal = signal.Signals(number)
        signal.signal(number, before[stop.signal])
        if stop.at_once:
            stop.leave()
        if note:
            with suppress(OSError):
                os.write(2, f"\n{note}\n".encode())  # not through sys.stderr, which may be in the middle of a write

    if threading.current_thread() is threading.main_thread():
        for each in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(each)
            # ignored, as under nohup, or not a Python handler: unchanged
            if handler is not None and handler != signal.SIG_IGN:
                before[each] = handler
                signal.signal(each, received)
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
