"""Locks that are free again in a forked child: the thread that held one in the parent does not exist there."""

import threading
from typing import final
from weakref import WeakSet

from typednn import system


@final
class Lock:
    """A re-entrant lock, used as ``with lock():``."""

    def __init__(self) -> None:
        self.renew()
        _locks.add(self)

    def __call__(self) -> threading.RLock:
        """The lock of this process."""
        return self._lock

    def renew(self) -> None:
        """Forget who holds it."""
        self._lock = threading.RLock()


_locks: WeakSet[Lock] = WeakSet()


def _after_fork() -> None:
    for lock in _locks:
        lock.renew()


system.at_fork(child=_after_fork)
