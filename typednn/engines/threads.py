"""One setting for the threads of every engine: the pool of the kernels, and BLAS.

It starts at ``TYPEDNN_THREADS``, or else at the number of cores that the process may use. Change it while no op runs.
"""

import os
from collections.abc import Callable

from typednn import system
from typednn.arguments import integer
from typednn.errors import ArgumentError, explain

_followers: list[Callable[[int], None]] = []


_setting = os.environ.get("TYPEDNN_THREADS", "").strip()
if _setting and (not _setting.isdecimal() or int(_setting) < 1):
    raise ArgumentError(explain("TYPEDNN_THREADS", "must be an integer of at least 1", repr(_setting)))
_count = int(_setting or system.cores())


def get_threads() -> int:
    """How many threads one op may use."""
    return _count


def set_threads(count: int) -> None:
    """Let one op use ``count`` threads, in kernels and in BLAS."""
    global _count
    _count = integer("set_threads", "count", count)
    for follow in _followers:
        follow(_count)


def follow(apply: Callable[[int], None]) -> None:
    """Call ``apply`` with the count now, and whenever it changes: for an engine that has just been loaded."""
    apply(_count)
    _followers.append(apply)
