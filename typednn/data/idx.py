"""IDX: the file format of MNIST. Strict: a file is exactly what its header says, or an error that says why not.

bytes 0-1   zero            byte 2   8, for unsigned bytes (MNIST has no other)     byte 3   the number of axes
then        one size per axis, four bytes each, most significant first
then        the numbers, last axis fastest, and nothing after them

Read with or without gzip, told apart by the first two bytes. Source: Y. LeCun, "The MNIST database of handwritten digits".
"""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np
import numpy.typing as npt

from typednn.errors import DataError, explain

_GZIP = b"\x1f\x8b"
_UNSIGNED_BYTE = 8


def read_idx(path: Path) -> npt.NDArray[np.uint8]:
    """The numbers of an IDX file of unsigned bytes; a `DataError` names the file and what is wrong with it."""
    where = str(path)
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(explain(where, "must be a readable file", error.strerror or type(error).__name__)) from None
    if content[:2] == _GZIP:
        try:
            content = gzip.decompress(content)
        except (EOFError, OSError, zlib.error) as error:
            cure = "it was cut short or damaged: fetch it again"
            raise DataError(explain(where, "must be a whole gzip file", str(error), cure)) from None
    if len(content) < 4 or content[:2] != b"\0\0":
        raise DataError(explain(where, "an IDX file begins with two zero bytes", _shown(content[:4]), "is it another file?"))
    if content[2] != _UNSIGNED_BYTE:
        raise DataError(explain(where, f"its numbers must be unsigned bytes, type {_UNSIGNED_BYTE}", f"type {content[2]}"))
    start = 4 + 4 * content[3]
    if content[3] == 0 or len(content) < start:
        raise DataError(explain(where, "must give a size for each axis", f"{len(content)} bytes for a header with {content[3]} axes"))
    shape = tuple(int(size) for size in np.frombuffer(content, ">u4", content[3], 4))
    expected = math.prod(shape)
    if len(content) - start != expected:
        told = " x ".join(map(str, shape))
        raise DataError(explain(where, f"its header promises {told} = {expected} numbers", f"{len(content) - start}", "fetch it again"))
    return np.frombuffer(content, np.uint8, expected, start).reshape(shape)


def _shown(start: bytes) -> str:
    return start.hex(" ") if start else "an empty file"
