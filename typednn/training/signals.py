"""Ctrl-C and SIGTERM, taken at the end of a step: the first asks, a second acts at once as it would have without us.

Before the first step there is nothing to save: while kernels are compiled for it, which may take a minute, the first acts at once too.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

_EXIT_BY_SIGNAL = 128  # a shell's code for a process that a signal ended is this and its number


@dataclass(slots=True)
class Stop:
    """Which signal has come, if any."""

    signal: signal.Signals | None = None
    at_once: bool = True  # whether nothing would be lost; `typednn.training.session` makes it False at the first update

    def leave(self) -> NoReturn:
        """Go on as the signal meant it: KeyboardInterrupt after Ctrl-C, SystemExit(143) after SIGTERM."""
        if self.signal is signal.SIGTERM:
            raise SystemExit(_EXIT_BY_SIGNAL + signal.SIGTERM)
        raise KeyboardInterrupt


@contextmanager
def stopping(note: str = "") -> Generator[Stop, None, None]:
    """Within, SIGINT and SIGTERM only set `Stop.signal`, once, and tell ``note``; afterwards the handlers are what they were.

    Signals reach the main thread only: in another one this does nothing.
    """
    stop = Stop()
    before: dict[signal.Signals, Any] = {}

    def asked(number: int, _: FrameType | None) -> None:
        stop.signal = signal.Signals(number)
        signal.signal(number, before[stop.signal])
        if stop.at_once:
            stop.leave()
        if note:
            with contextlib.suppress(OSError):
                os.write(2, f"\n{note}\n".encode())  # past sys.stderr, which may be in the middle of a write

    if threading.current_thread() is threading.main_thread():
        for each in (signal.SIGINT, signal.SIGTERM):
            handler = signal.getsignal(each)
            if handler is not None and handler != signal.SIG_IGN:  # ignored, as under nohup, or not Python's: left alone
                before[each] = handler
                signal.signal(each, asked)
    try:
        yield stop
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
