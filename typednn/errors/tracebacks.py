"""Tracebacks that end where a user's code called typednn: what is below that line is typednn's own.

`folding` marks the function that is called, `fold` does it for one error. ``TYPEDNN_DEBUG=64`` shows all lines. A call
that works costs nothing but a frame.

Lines of the user's that typednn has called, such as a hand-written ``forward`` or a callback, stay. So do typednn's
where no such function was called, and those of an error that is not typednn's: that one is a bug, and its lines are
what a report of it needs.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import ParamSpec, TypeVar

from typednn.errors import TypednnError
from typednn.errors.debugging import Debug, is_on

P = ParamSpec("P")
R = TypeVar("R")

# Packages whose lines are typednn's concern.
_INSIDE = {"typednn", "beartype", "jaxtyping", *sys.stdlib_module_names}


def folding(function: Callable[P, R], *others: type[BaseException]) -> Callable[P, R]:
    """``function`` with the tracebacks of typednn's errors folded, and of ``others``."""
    kinds: tuple[type[BaseException], ...] = (TypednnError, *others)

    @functools.wraps(function)
    def called(*args: P.args, **named: P.kwargs) -> R:
        try:
            return function(*args, **named)
        except kinds as error:
            fold(error)
            raise  # adds no line, unlike `raise error`

    return called


def fold(error: BaseException) -> None:
    """Leave the lines within typednn out of the traceback, up to the caller's, also of what ``error`` came from."""
    if is_on(Debug.FRAMES):
        return
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        link.__traceback__ = _outside(link.__traceback__)
        link = link.__cause__ or (None if link.__suppress_context__ else link.__context__)


def _outside(traceback: TracebackType | None) -> TracebackType | None:
    """The lines of the user's, and of packages that typednn does not need."""
    lines: list[TracebackType] = []
    while traceback is not None:
        if not _is_inside(traceback.tb_frame):
            lines.append(traceback)
        traceback = traceback.tb_next
    rest: TracebackType | None = None
    for line in reversed(lines):
        rest = TracebackType(rest, line.tb_frame, line.tb_lasti, line.tb_lineno)
    return rest


def caller_level() -> int:
    """The ``stacklevel`` of a warning in the calling function that belongs to the line which called typednn."""
    frame, level = sys._getframe(1), 1  # pyright: ignore[reportPrivateUsage]
    while frame.f_back is not None and _is_inside(frame):
        frame, level = frame.f_back, level + 1
    return level


def _is_inside(frame: FrameType) -> bool:
    return str(frame.f_globals.get("__name__")).partition(".")[0] in _INSIDE
