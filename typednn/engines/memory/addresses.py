"""The address of an array's data, quickly: every call of a kernel needs one for each argument.

NumPy's own ways take ten times as long. The address is the first field after an object's header in NumPy's ``PyArrayObject``, part of its
C interface; whether it is found there is tried once, and otherwise NumPy is asked.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

# The whole memory as words, without the first, which can't be asked for: word i lies at 8 + 8·i.
words: Any = (ctypes.c_uint64 * (1 << 54)).from_address(8)


def _data_word() -> int | None:
    probe = np.empty(3, np.float32)
    # Headers are longer in builds of Python that count references in another way.
    word = object.__basicsize__ // 8 - 1
    if ctypes.sizeof(ctypes.c_void_p) != 8 or id(probe) % 8 or words[(id(probe) >> 3) + word] != probe.ctypes.data:
        return None
    return word


# How many words after ``id(array) >> 3`` the address stands; None where it isn't so.
DATA: int | None = _data_word()


def _asked(array: np.ndarray[Any, Any]) -> int:
    return array.ctypes.data


def _read(array: np.ndarray[Any, Any], words: Any = words, data: int = DATA or 0) -> int:
    address: int = words[(id(array) >> 3) + data]
    return address


address: Callable[[Any], int] = _asked if DATA is None else _read
