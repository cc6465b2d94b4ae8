"""beartype's verdict on one value, in a process that may fork at any time.

beartype guards its caches with locks. A child that is forked while another thread holds one would wait for it for ever.
So only one thread is in beartype at a time, and a fork waits until none is.
"""

import threading
from typing import Any

from beartype import BeartypeConf, door

from typednn import system

_DEFAULT = BeartypeConf()
_lock = threading.RLock()


def is_bearable(value: Any, hint: Any, conf: BeartypeConf = _DEFAULT) -> bool:
    """Whether ``value`` is what ``hint`` says."""
    with _lock:
        return door.is_bearable(value, hint, conf=conf)  # noqa: TID251 - the one place


system.at_fork(before=_lock.acquire, parent=_lock.release, child=_lock.release)
