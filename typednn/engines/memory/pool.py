"""Arrays whose memory is reused from step to step: a fresh 10 MB array costs page faults, a reused one none.

``empty`` returns views of arrays that the pool owns. An owner's memory is reused when nothing else refers to it: every
view, slice of a view, memoryview, DLPack capsule or torch tensor keeps, directly or not, a reference to the owner, and
CPython counts references. So a result that is still in use keeps its values, however many steps later.

Sizes are rounded up, by at most an eighth, so that arrays of other sizes can use an owner too: where every batch has
another shape, memory stays flat. A large array may also use an owner of up to twice its size, as the scores of a
language model leave behind. Memory goes back to the system when `clear` is called, and when a new owner is needed while
more than 2 GiB are idle. Small arrays come from NumPy, which has a cache of its own for them.
"""

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from typednn import system
from typednn.engines.locks import Lock

FLOAT32 = np.dtype(np.float32)
SMALL = 16 * 1024
ALIGNMENT = 64

_Owner = np.ndarray[tuple[int], np.dtype[np.uint8]]
_getrefcount = sys.getrefcount
_ndarray = np.ndarray
_fresh: Any = np.empty


def _idle_references() -> int:
    """The ``getrefcount``, in the loop of `empty`, of an owner that only the pool refers to."""
    for owner, _ in [(np.empty(1, np.uint8), 0)]:
        return _getrefcount(owner)
    raise AssertionError  # the list is not empty


_IDLE = _idle_references()
# Without a global lock CPython doesn't count references exactly, so no memory is reused.
_COUNTS = getattr(sys, "_is_gil_enabled", lambda: True)()

# bytes, rounded up -> owners, each with the offset of its first aligned byte
_sizes: dict[int, list[tuple[_Owner, int]]] = {}
# The same lists, found without arithmetic, by (shape, dtype), and by the shape alone where the dtype is float32.
_shapes: dict[tuple[Any, ...], list[tuple[_Owner, int]]] = {}
_small: list[tuple[_Owner, int]] = []  # stands for every small shape, and stays empty
_lock = Lock()
_LARGE = 1 << 24  # bytes from which an array looks for a larger owner too, which takes some microseconds
_LIMIT = 2 * 1024**3  # bytes that may be idle when a new owner is made


@dataclass(frozen=True, slots=True)
class PoolStatistics:
    """Bytes of all owners, and of those that something refers to."""

    held: int
    in_use: int


def empty(shape: tuple[int, ...], dtype: np.dtype[Any] | type[Any] = FLOAT32) -> Any:
    """A C-contiguous array with arbitrary values; from 16 KB on aligned to 64 bytes, with memory from the pool."""
    owners = _shapes.get(shape if dtype is FLOAT32 else (shape, dtype))
    if owners is _small:
        return _fresh(shape, dtype)
    if owners is None:
        return _first(shape, dtype)
    # Two threads here at once see each other's reference in the count, and both skip that owner.
    for owner, offset in owners:
        if _getrefcount(owner) == _IDLE:
            return _ndarray(shape, dtype, owner, offset)
    return _grown(owners, shape, dtype)


def _first(shape: tuple[int, ...], dtype: Any) -> Any:
    size = _size(shape, dtype)
    with _lock():
        if len(_shapes) > 4096:  # shapes that change with every call must not pile up
            _shapes.clear()
        key = shape if dtype is FLOAT32 else (shape, dtype)
        _shapes[key] = _small if size < SMALL or not _COUNTS else _sizes.setdefault(size, [])
    return empty(shape, dtype)


def _size(shape: tuple[int, ...], dtype: Any) -> int:
    """Bytes of an owner for such an array: rounded up to four digits in base 2, as a size class."""
    size: int = math.prod(shape) * np.dtype(dtype).itemsize
    digits = max(size.bit_length() - 4, 0)
    return -(-size >> digits) << digits


def _grown(owners: list[tuple[_Owner, int]], shape: tuple[int, ...], dtype: Any) -> Any:
    size = _size(shape, dtype)
    if size >= _LARGE:
        with _lock():
            larger = [owners for other, owners in sorted(_sizes.items()) if size < other <= 2 * size]
        for others in larger:
            for owner, offset in others:
                if _getrefcount(owner) == _IDLE:
                    return _ndarray(shape, dtype, owner, offset)
    _trim(_LIMIT)
    owner = np.empty(size + ALIGNMENT, np.uint8)
    offset = -owner.ctypes.data % ALIGNMENT
    array = _ndarray(shape, dtype, owner, offset)
    owners.append((owner, offset))
    return array


def _trim(limit: int) -> None:
    """Free idle owners, those of the largest sizes first, until at most ``limit`` idle bytes remain."""
    with _lock():
        surplus = _idle_bytes() - limit
        for size, owners in sorted(_sizes.items(), reverse=True):
            for at in reversed(range(len(owners))):
                if surplus > 0 and _is_idle(owners, at):
                    # One step for the interpreter: a thread in `empty` holds either the owner or the shorter list.
                    del owners[at]
                    surplus -= size


def _idle_bytes() -> int:
    return sum(size * sum(_is_idle(owners, at) for at in range(len(owners))) for size, owners in _sizes.items())


def _is_idle(owners: list[tuple[_Owner, int]], at: int) -> bool:
    for owner, _ in owners[at : at + 1]:
        return _getrefcount(owner) == _IDLE
    return False


def clear() -> None:
    """Free all idle memory."""
    _trim(0)
    system.give_back_memory()


def statistics() -> PoolStatistics:
    """The size of the pool now."""
    with _lock():
        held = sum(size * len(owners) for size, owners in _sizes.items())
        return PoolStatistics(held, held - _idle_bytes())
