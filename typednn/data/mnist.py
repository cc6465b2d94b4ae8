"""MNIST: 70,000 handwritten digits of 28x28 pixels, from its four IDX files.

60,000 to train and 10,000 to test, pixels 0 to 255. The files are read from a folder and never fetched from anywhere.
"""

from pathlib import Path

import numpy as np

from typednn.arrays import IntArray1
from typednn.data.dataset import Bytes, Dataset, Pixels
from typednn.data.idx import read_idx
from typednn.errors import DataError, explain
from typednn.files import path_of

_FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")


def mnist(folder: str | Path) -> Dataset:
    """MNIST (or another set in its format, such as Fashion-MNIST) from ``folder``; its four files may be gzipped or
    not.
    """
    return mnist_pixels(folder).dataset()


def mnist_pixels(folder: str | Path) -> Pixels:
    """The same, in the bytes that the files hold."""
    place = path_of("mnist", folder)
    images, labels, test_images, test_labels = (_found(place, name) for name in _FILES)
    return Pixels(_images(images), _labels(labels), _images(test_images), _labels(test_labels))


def has_mnist(folder: Path) -> bool:
    """Whether `mnist` would find something there."""
    return any(_either(folder, _FILES[0]))


def _either(folder: Path, name: str) -> list[Path]:
    return [path for path in (folder / f"{name}.gz", folder / name) if path.is_file()]


def _found(folder: Path, name: str) -> Path:
    for path in _either(folder, name):
        return path
    cure = "set TYPEDNN_DATA to the folder that holds the four files, or to the one above it"
    raise DataError(explain(f"mnist({str(folder)!r})", f"the folder must hold {name}.gz", "no such file", cure))


def _images(path: Path) -> Bytes:
    pixels = _of_rank(path, 3, "images")
    if pixels.shape[1:] != (28, 28):
        raise DataError(explain(str(path), "images must be 28 x 28", f"{pixels.shape[1]} x {pixels.shape[2]}"))
    return pixels.reshape(len(pixels), 28, 28, 1)


def _labels(path: Path) -> IntArray1:
    return _of_rank(path, 1, "labels").astype(np.int64).reshape(-1)


def _of_rank(path: Path, rank: int, what: str) -> Bytes:
    numbers = read_idx(path)
    if numbers.dtype != np.uint8:
        raise DataError(explain(str(path), f"{what} of MNIST are unsigned bytes", str(numbers.dtype)))
    if numbers.ndim != rank:
        axes = "1 axis" if rank == 1 else f"{rank} axes"
        raise DataError(explain(str(path), f"{what} have {axes}", f"shape {numbers.shape}", "were files swapped?"))
    return numbers
