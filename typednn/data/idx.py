"""IDX: the file format of MNIST. Strict: a file is exactly what its header says, or an error that says why not.

bytes 0-1   zero            byte 2   the type of number             byte 3   the number of axes
then        one size per axis, four bytes each, most significant first
then        the numbers, most significant byte first, last axis fastest, and nothing after them

======  ================        ======  ================
byte 2  type                    byte 2  type
======  ================        ======  ================
8       unsigned byte           12      int, 4 bytes
9       signed byte             13      float, 4 bytes
11      short, 2 bytes          14      double, 8 bytes
======  ================        ======  ================

Read with or without gzip, told apart by the first two bytes. No more is unpacked than the header promises, and no more
memory taken than the file can stand for. Source: Y. LeCun, "The MNIST database of handwritten digits".
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from typednn.errors import DataError, explain

_GZIP = b"\x1f\x8b"
_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_MOST_AXES = 32
_CHUNK = 1 << 20


def read_idx(path: str | Path) -> npt.NDArray[Any]:
    """The numbers of an IDX file, in the machine's own byte order; a `DataError` names the file and what is wrong with it."""
    path = Path(path)
    where = str(path)
    try:
        with path.open("rb") as file:
            packed = file.read(2) == _GZIP
            file.seek(0)
            if not packed:
                return _read(file, where, path.stat().st_size)
            with gzip.open(file) as unpacked:
                return _read(unpacked, where, None)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        cure = "it was cut short or damaged: fetch it again"
        raise DataError(explain(where, "must be a whole gzip file", str(error), cure)) from None
    except OSError as error:
        raise DataError(explain(where, "must be a readable file", error.strerror or str(error))) from None


def _read(file: BinaryIO | gzip.GzipFile, where: str, size: int | None) -> npt.NDArray[Any]:
    start = file.read(4)
    if len(start) < 4 or start[:2] != b"\0\0":
        raise DataError(explain(where, "an IDX file begins with two zero bytes", start.hex(" ") or "an empty file", "is it another file?"))
    if start[2] not in _TYPES:
        known = ", ".join(map(str, _TYPES))
        raise DataError(explain(where, f"the type of its numbers must be one of {known}", f"type {start[2]}"))
    axes = start[3]
    sizes = file.read(4 * axes)
    if axes == 0 or len(sizes) < 4 * axes:
        raise DataError(explain(where, "must give a size for each axis", f"{4 + len(sizes)} bytes for a header with {axes} axes"))
    if axes > _MOST_AXES:
        raise DataError(explain(where, f"has at most {_MOST_AXES} axes", str(axes)))
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    dtype = np.dtype(_TYPES[start[2]])
    count = math.prod(shape)
    rule = f"its header promises {' x '.join(map(str, shape))} = {count} numbers"
    expected = count * dtype.itemsize
    if size is not None and size - 4 - 4 * axes != expected:  # before anything is read
        raise DataError(explain(where, rule, _counted(size - 4 - 4 * axes, dtype.itemsize), "fetch it again"))
    content = bytearray()
    while len(content) < expected and (chunk := file.read(min(_CHUNK, expected - len(content)))):
        content += chunk
    if len(content) < expected:
        raise DataError(explain(where, rule, _counted(len(content), dtype.itemsize), "fetch it again"))
    if file.read(1):
        raise DataError(explain(where, rule, "more", "fetch it again"))
    try:
        return np.frombuffer(content, dtype).astype(dtype.newbyteorder("="), copy=False).reshape(shape)
    except ValueError as error:  # 0 numbers in an absurd shape
        raise DataError(explain(where, rule, str(error))) from None


def _counted(size: int, itemsize: int) -> str:
    return f"{size // itemsize}" if size % itemsize == 0 else f"{size} bytes"


__all__ = ["read_idx"]
