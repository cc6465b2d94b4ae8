"""IDX: the file format of MNIST. Strict: a file that differs from its header is an error that says how.

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

Read with or without gzip, recognised by the first two bytes. Only as many bytes as the header states are unpacked, and
none if that exceeds the limit (`typednn.files`). Source: Y. LeCun, "The MNIST database of handwritten digits".
"""

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from typednn.errors import DataError, explain
from typednn.files import File, Readable, opened

_TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
_MOST_AXES = 32


def read_idx(path: str | Path, *, limit: int | None = None) -> npt.NDArray[Any]:
    """The numbers of an IDX file, in the machine's own byte order; a `DataError` names the file and what is wrong with
    it.

    ``limit`` is how many bytes of memory they may take; see `typednn.files`.
    """
    with opened("read_idx", path, limit) as file:
        packed = file.stream.read(2) == b"\x1f\x8b"
        file.stream.seek(0)
        if not packed:
            return _read(file, file.stream, file.size)
        try:
            with gzip.open(file.stream) as unpacked:
                return _read(file, unpacked, None)
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise DataError(
                explain(
                    file.where, "must be a whole gzip file", str(error), "it was cut short or damaged: fetch it again"
                )
            ) from None


def _read(file: File, stream: Readable, size: int | None) -> npt.NDArray[Any]:
    where = file.where
    start = stream.read(4)
    if len(start) < 4 or start[:2] != b"\0\0":
        raise DataError(
            explain(
                where,
                "an IDX file begins with two zero bytes",
                start.hex(" ") or "an empty file",
                "is it another file?",
            )
        )
    if start[2] not in _TYPES:
        raise DataError(
            explain(where, f"the type of its numbers must be one of {', '.join(map(str, _TYPES))}", f"type {start[2]}")
        )
    axes = start[3]
    sizes = stream.read(4 * axes)
    if axes == 0 or len(sizes) < 4 * axes:
        raise DataError(
            explain(where, "must give a size for each axis", f"{4 + len(sizes)} bytes for a header with {axes} axes")
        )
    if axes > _MOST_AXES:
        raise DataError(explain(where, f"has at most {_MOST_AXES} axes", str(axes)))
    shape = tuple(int(size) for size in np.frombuffer(sizes, ">u4"))
    dtype = np.dtype(_TYPES[start[2]])
    expected = math.prod(shape) * dtype.itemsize
    rule = f"its header promises {' x '.join(map(str, shape))} = {math.prod(shape)} numbers"
    if size is not None and size - 4 - 4 * axes != expected:  # before anything is read
        raise DataError(explain(where, rule, _counted(size - 4 - 4 * axes, dtype.itemsize), "fetch it again"))
    content = file.exactly(stream, expected)
    if len(content) < expected:
        raise DataError(explain(where, rule, _counted(len(content), dtype.itemsize), "fetch it again"))
    if stream.read(1):
        raise DataError(explain(where, rule, "more", "fetch it again"))
    try:
        numbers = np.frombuffer(content, dtype).reshape(shape)
    except ValueError as error:  # no numbers, but an impossible shape
        raise DataError(explain(where, rule, str(error))) from None
    return numbers if dtype.isnative else numbers.byteswap(inplace=True).view(dtype.newbyteorder("="))


def _counted(size: int, itemsize: int) -> str:
    return f"{size // itemsize}" if size % itemsize == 0 else f"{size} bytes"
