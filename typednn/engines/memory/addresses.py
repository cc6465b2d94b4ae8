"""The address of an array's data, found quickly, as every call of a kernel needs one for each argument.

NumPy's own ways take ten times as long (``python -m benchmarks.calls``). The address is the first field after an
object's header in NumPy's ``PyArrayObject``, part of its C interface; that it is there is tested once at import;
otherwise NumPy's own way is used.
"""

import ctypes
from typing import Any

import numpy as np

# The whole address space as words of 8 bytes, without the first: word i lies at address 8 + 8·i.
_memory: Any = (ctypes.c_uint64 * (1 << 54)).from_address(8)


def _data_word() -> int | None:
    probe = np.empty(3, np.float32)
    # Headers are longer in free-threaded builds of Python, which count references differently.
    word = object.__basicsize__ // 8 - 1
    if ctypes.sizeof(ctypes.c_void_p) != 8 or id(probe) % 8 or _memory[(id(probe) >> 3) + word] != probe.ctypes.data:
        return None
    return word


# The address is this many words after ``id(array) >> 3``; None where it isn't.
_word: int | None = _data_word()


def address(array: np.ndarray[Any, Any]) -> int:
    """Where the data of ``array`` lies."""
    return array.ctypes.data if _word is None else _memory[(id(array) >> 3) + _word]


def inlined(name: str) -> tuple[str, dict[str, Any]]:
    """`address` of the array called ``name``: an expression for generated code, without the call, and the names that it
    uses.
    """
    if _word is None:
        return f"{name}.ctypes.data", {}
    return f"memory[(id({name}) >> 3) + {_word}]", {"memory": _memory}
