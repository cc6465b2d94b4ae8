"""The address of an array's data, found quickly, as every call of a kernel needs one for each argument.

NumPy's own ways take ten times as long. The address is the first field after an object's header in NumPy's ``PyArrayObject``, part of its
C interface; that it is there is tested once at import; otherwise NumPy's own way is used.
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

# The whole address space as words of 8 bytes, without the first: word i lies at address 8 + 8·i.
words: Any = (ctypes.c_uint64 * (1 << 54)).from_address(8)


def _data_word() -> int | None:
    probe = np.empty(3, np.float32)
    # Headers are longer in free-threaded builds of Python, which count references differently.
    word = object.__basicsize__ // 8 - 1
    if ctypes.sizeof(ctypes.c_void_p) != 8 or id(probe) % 8 or words[(id(probe) >> 3) + word] != probe.ctypes.data:
        return None
    return word


# The address is this many words after ``id(array) >> 3``; None where it isn't.
DATA: int | None = _data_word()


def _address_by_numpy(array: np.ndarray[Any, Any]) -> int:
    return array.ctypes.data


def _address_by_offset(array: np.ndarray[Any, Any], words: Any = words, data: int = DATA or 0) -> Any:
    return words[(id(array) >> 3) + data]


address: Callable[[Any], int] = _address_by_numpy if DATA is None else _address_by_offset
