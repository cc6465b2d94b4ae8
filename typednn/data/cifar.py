"""CIFAR-10: 60,000 photographs of 32x32 pixels in ten classes, from the binary version. The pickled version is not
read.

a record    1 byte, the label     3072 bytes, the pixels: red, green, blue, each 32 rows of 32
five files of 10,000 records to train, data_batch_1.bin … data_batch_5.bin, and test_batch.bin

The six files are read from a folder, or from the archive ``cifar-10-binary.tar.gz`` that they are published in, without
unpacking it to the disk: names in the archive can't write anywhere. Source: A. Krizhevsky, "Learning Multiple Layers of
Features from Tiny Images" (2009).
"""

import gzip
import tarfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from typednn.arrays import IntArray1
from typednn.data.dataset import Bytes, Dataset, Pixels
from typednn.errors import DataError, explain
from typednn.files import Readable, opened, path_of

ARCHIVE = "cifar-10-binary.tar.gz"
_FOLDER = "cifar-10-batches-bin"
_FILES = (*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin")
_RECORD = 1 + 3 * 32 * 32
_MOST = 1 << 28  # bytes unpacked from an archive at most; the real one has 184 million


def cifar10(folder: str | Path) -> Dataset:
    """CIFAR-10 from ``folder``: its six .bin files, a folder ``cifar-10-batches-bin`` of them, or the archive. Pixels 0
    to 255.
    """
    return cifar10_pixels(folder).dataset()


def cifar10_pixels(folder: str | Path) -> Pixels:
    """The same, in the bytes that the files hold."""
    place = _place(path_of("cifar10", folder))
    if place is None:
        raise DataError(
            explain(f"cifar10({str(folder)!r})", f"the folder must hold {ARCHIVE} or its six .bin files", "neither")
        )
    files = _of_archive(place) if place.is_file() else {name: _content(place / name) for name in _FILES}
    *train, test = (_parsed(f"{place!s}, {name}", files[name]) for name in _FILES)
    images, labels = zip(*train, strict=True)
    return Pixels(np.concatenate(images), np.concatenate(labels), *test)


def has_cifar10(folder: Path) -> bool:
    """Whether `cifar10` would find something there."""
    return _place(folder) is not None


def _place(folder: Path) -> Path | None:
    places = {
        folder: folder / _FILES[-1],
        folder / _FOLDER: folder / _FOLDER / _FILES[-1],
        folder / ARCHIVE: folder / ARCHIVE,
    }
    return next((place for place, file in places.items() if file.is_file()), None)


def _content(path: Path) -> bytearray:
    with opened("cifar10", path) as file:
        return file.exactly(file.stream, file.size)


def _of_archive(path: Path) -> dict[str, bytearray]:
    """The six files by their file names, in any folder of the archive."""
    contents: dict[str, bytearray] = {}
    with opened("cifar10", path) as file:
        try:
            with (
                gzip.open(file.stream) as unpacked,
                tarfile.open(fileobj=cast("Any", _Limited(file.where, unpacked, _MOST)), mode="r|") as archive,
            ):
                for member in archive:
                    name = member.name.rpartition("/")[2]
                    # sparse entries could be of any size
                    if name in _FILES and member.isreg() and not member.issparse():
                        contents[name] = file.exactly(cast("Readable", archive.extractfile(member)), member.size)
        except DataError:
            raise
        except (EOFError, OSError, ValueError, OverflowError, RecursionError, tarfile.TarError, zlib.error) as error:
            cure = "it was cut short or damaged: fetch it again"
            raise DataError(
                explain(file.where, "must be a whole .tar.gz archive", str(error) or type(error).__name__, cure)
            ) from None
        missing = [name for name in _FILES if name not in contents]
        if missing:
            raise DataError(explain(file.where, f"must hold {', '.join(_FILES)}", f"no {missing[0]}", "fetch it again"))
    return contents


@dataclass(slots=True)
class _Limited:
    """A reader with a limit, as a small archive can unpack to a very large one."""

    where: str
    file: gzip.GzipFile
    left: int

    def read(self, size: int) -> bytes:
        content: bytes = self.file.read(max(0, min(size, self.left + 1)))
        self.left -= len(content)
        if self.left < 0:
            raise DataError(explain(self.where, f"unpacks to at most {_MOST} bytes", "more"))
        return content


def _parsed(where: str, content: bytearray) -> tuple[Bytes, IntArray1]:
    if not content or len(content) % _RECORD:
        raise DataError(
            explain(where, f"must be records of {_RECORD} bytes, a label and 3072 pixels", f"{len(content)} bytes")
        )
    records = np.frombuffer(content, np.uint8).reshape(-1, _RECORD)
    labels = records[:, 0].astype(np.int64)
    if labels.max() > 9:
        row = int((labels > 9).argmax())
        raise DataError(explain(where, "a label of CIFAR-10 is 0 to 9", f"{labels[row]} in record {row}"))
    return np.ascontiguousarray(records[:, 1:].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)), labels
