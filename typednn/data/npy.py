"""npy, npz: NumPy's own files, read without pickle, and checked before memory is allocated.

bytes 0-5   \\x93NUMPY        bytes 6-7   the version, 1.0 or 2.0
then        the header's length, 2 bytes in version 1 and 4 in version 2, least significant first
then        {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
then        the numbers, and nothing after them

An .npz file is a zip archive of .npy files. Only numbers and truth values are read: other kinds would need pickle,
which can run code. The sizes in a header are compared with the file's size and with the limit (`typednn.files`) before
memory is allocated. Source: NumPy, "NEP 1: A Simple File Format for NumPy Arrays".
"""

import math
import re
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
import numpy.typing as npt

from typednn.errors import DataError, explain
from typednn.files import File, Readable, opened

_LONGEST_HEADER = 1 << 16
_MOST_AXES = 32
_HEADER = re.compile(
    r"\s*\{\s*'descr':\s*'(?P<dtype>[<>|=]?(?:b1|[iu][1248]|f[248]))',\s*'fortran_order':\s*(?P<fortran>True|False),"
    r"\s*'shape':\s*\((?P<shape>[\d, ]*)\),?\s*\}\s*"
)
_LONGEST_DIRECTORY = 1 << 24  # bytes that a zip archive takes to list its entries
_DAMAGED = (
    zipfile.BadZipFile,
    EOFError,
    KeyError,
    NotImplementedError,
    OverflowError,
    RuntimeError,
    ValueError,
    zlib.error,
)


def read_npy(path: str | Path, *, mmap: bool = False, limit: int | None = None) -> npt.NDArray[Any]:
    """The array of an .npy file. ``mmap=True`` leaves it on disk, read-only, and only what is indexed is read.

    ``limit`` is how many bytes of memory it may take, where it is not left on disk; see `typednn.files`.
    """
    with opened("read_npy", path, limit) as file:
        dtype, shape, order = _header(file.stream, file.where)
        start = file.stream.tell()
        size = _checked_size(file.where, dtype, shape, file.size - start)
        if mmap and size:
            return np.memmap(file.stream, dtype, "r", start, shape, order)
        file.take(size)
        numbers = np.fromfile(file.stream, dtype, math.prod(shape))
        _checked_size(file.where, dtype, shape, numbers.nbytes)  # it may have been truncated meanwhile
        return numbers.reshape(shape, order=order)


def read_npz(path: str | Path, *, limit: int | None = None) -> dict[str, npt.NDArray[Any]]:
    """The arrays of an .npz file by their names; ``limit`` is how many bytes of memory they may take together."""
    with opened("read_npz", path, limit) as file:
        try:
            with zipfile.ZipFile(cast("BinaryIO", _Directory(file))) as archive:
                entries = archive.infolist()
                # Entries that share bytes could unpack to more than the file's size allows.
                if sum(entry.compress_size for entry in entries) > file.size:
                    raise DataError(
                        explain(
                            file.where, "its entries must not overlap", f"{len(entries)} that are longer than the file"
                        )
                    )
                if len({entry.filename for entry in entries}) < len(entries):
                    raise DataError(explain(file.where, "each array must have a name of its own", "one name twice"))
                return {entry.filename.removesuffix(".npy"): _entry(file, archive, entry) for entry in entries}
        except DataError:
            raise
        except _DAMAGED as error:
            raise DataError(
                explain(file.where, "must be a whole .npz file", str(error) or type(error).__name__, "fetch it again")
            ) from None


class _Directory:
    """The file for zipfile, which reads the list of entries at once, of the length that the file states."""

    def __init__(self, file: File) -> None:
        self._file = file
        self.seek, self.tell = file.stream.seek, file.stream.tell

    def seekable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if size > _LONGEST_DIRECTORY:
            raise DataError(
                explain(self._file.where, f"its list of entries has at most {_LONGEST_DIRECTORY} bytes", f"{size}")
            )
        return self._file.stream.read(size)


def _entry(file: File, archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> npt.NDArray[Any]:
    where = f"{file.where}, {entry.filename}"
    if not entry.filename.endswith(".npy"):
        raise DataError(explain(file.where, "holds .npy files only", ascii(entry.filename)))
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or entry.flag_bits & 1:
        got = "an encrypted entry" if entry.flag_bits & 1 else f"method {entry.compress_type}"
        raise DataError(
            explain(where, "must be stored or deflated", got, "write it with numpy.savez or numpy.savez_compressed")
        )
    if entry.file_size > 1032 * entry.compress_size:  # the largest ratio of deflate
        raise DataError(
            explain(where, "cannot hold more than deflate can", f"{entry.file_size} bytes out of {entry.compress_size}")
        )
    with archive.open(entry) as unpacked:
        dtype, shape, order = _header(unpacked, where)
        # The entry is read to its end, where zipfile compares the checksum.
        content = file.exactly(unpacked, _checked_size(where, dtype, shape, entry.file_size - unpacked.tell()))
    _checked_size(where, dtype, shape, len(content))
    return np.frombuffer(content, dtype, math.prod(shape)).reshape(shape, order=order)


def _header(file: Readable, where: str) -> tuple[np.dtype[Any], tuple[int, ...], Any]:
    start = file.read(8)
    if start[:6] != b"\x93NUMPY" or len(start) < 8:
        raise DataError(
            explain(
                where,
                "an .npy file begins with \\x93NUMPY",
                start[:6].hex(" ") or "an empty file",
                "is it another file?",
            )
        )
    if start[6:] not in (b"\1\0", b"\2\0"):
        raise DataError(explain(where, "must be of version 1.0 or 2.0", f"{start[6]}.{start[7]}"))
    length = int.from_bytes(file.read(2 if start[6] == 1 else 4), "little")
    if length > _LONGEST_HEADER:
        raise DataError(explain(where, f"its header has at most {_LONGEST_HEADER} bytes", str(length)))
    text = file.read(length).decode("latin1")
    header = _HEADER.fullmatch(text)
    if header is None:
        cure = "objects, strings and records are not read: they would need pickle, which can run code"
        raise DataError(explain(where, "its header must tell of an array of numbers", repr(text[:120].strip()), cure))
    sizes = [size.strip() for size in header["shape"].split(",") if size.strip()]
    if len(sizes) > _MOST_AXES or not all(size.isdecimal() and len(size) < 20 for size in sizes):
        raise DataError(explain(where, f"its shape has at most {_MOST_AXES} sizes", repr(header["shape"][:80])))
    return np.dtype(header["dtype"]), tuple(map(int, sizes)), "F" if header["fortran"] == "True" else "C"


def _checked_size(where: str, dtype: np.dtype[Any], shape: tuple[int, ...], got: int) -> int:
    """The size of such an array in bytes, which must be ``got``."""
    expected = math.prod(shape) * dtype.itemsize
    sizes = " x ".join(map(str, shape)) or "one"
    if expected == 0 and math.prod(max(size, 1) for size in shape) * dtype.itemsize >= 1 << 63:
        raise DataError(explain(where, "must be an array that NumPy can hold", f"shape {sizes}"))
    if got != expected:
        raise DataError(
            explain(where, f"its header promises {sizes} of {dtype} = {expected} bytes", str(got), "fetch it again")
        )
    return expected
