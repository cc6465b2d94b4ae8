"""Dataset: labelled images, a training part and a test part. Pixels: the same as bytes, as the files hold them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer
from typednn.arrays import Array4, IntArray1, described, is_array
from typednn.data.labels import checked_labels
from typednn.errors import ArgumentError, explain

Bytes: TypeAlias = npt.NDArray[np.uint8]

_AT_ONCE = 1 << 16  # numbers that are converted to float64 at once; they fit in a cache


@final
@dataclass(frozen=True, slots=True, eq=False)
class Dataset:
    """Images (n, height, width, channels) in float32 and labels (n) in ``0 … classes-1``. The arrays are never written."""

    train_images: Array4
    train_labels: IntArray1
    test_images: Array4
    test_labels: IntArray1
    classes: int = 10

    def __post_init__(self) -> None:
        integer("Dataset", "classes", self.classes)
        _check(self, np.dtype(np.float32))

    def standardised(self) -> Dataset:
        """The same, scaled so that training images have mean 0 and deviation 1; test images are scaled by the *training* moments."""
        mean, deviation = moments(self.train_images)
        if not deviation > 0.0:
            raise ArgumentError(explain("Dataset.standardised", "training images must differ somewhere", f"{mean:g} in every pixel"))

        train, test = ((images - np.float32(mean)) / np.float32(deviation) for images in (self.train_images, self.test_images))
        return replace(self, train_images=train, test_images=test)

    def limited(self, train: int) -> Dataset:
        """The same with the first ``train`` training images only; all test images are kept."""
        train = integer("Dataset.limited", "train", train)
        return replace(self, train_images=self.train_images[:train], train_labels=self.train_labels[:train])


@final
@dataclass(frozen=True, slots=True, eq=False)
class Pixels:
    """Images (n, height, width, channels) in unsigned bytes, a quarter of what a `Dataset` takes, and their labels (n)."""

    train_images: Bytes
    train_labels: IntArray1
    test_images: Bytes
    test_labels: IntArray1
    classes: int = 10

    def __post_init__(self) -> None:
        _check(self, np.dtype(np.uint8))

    def dataset(self) -> Dataset:
        """The same numbers in float32."""
        train, test = (images.astype(np.float32, order="C") for images in (self.train_images, self.test_images))
        return Dataset(train, self.train_labels, test, self.test_labels, self.classes)


def moments(numbers: npt.NDArray[Any]) -> tuple[float, float]:
    """Mean and standard deviation over all ``numbers``, summed in float64, some rows at a time.

    A float32 sum over 47 million pixels loses digits, and the deviation would be off by several percent.
    """
    rows = max(1, _AT_ONCE * len(numbers) // numbers.size)
    chunks = [numbers[start : start + rows] for start in range(0, len(numbers), rows)]
    mean = sum(float(np.asarray(chunk, np.float32).sum(dtype=np.float64)) for chunk in chunks) / numbers.size
    squares = sum(float(np.square(np.asarray(chunk, np.float32) - mean, dtype=np.float64).sum()) for chunk in chunks)
    return mean, float(np.sqrt(squares / numbers.size))


def _check(data: Dataset | Pixels, dtype: np.dtype[Any]) -> None:
    where = type(data).__name__
    for part, images, labels in (("train", data.train_images, data.train_labels), ("test", data.test_images, data.test_labels)):
        name = f"{part}_images"
        if not is_array(images) or images.ndim != 4 or images.dtype != dtype:
            raise ArgumentError(explain(where, f"{name} must be {dtype} of shape (n, height, width, channels)", described(images)), name)
        if not images.size:
            raise ArgumentError(explain(where, f"{name} must hold at least one image", f"shape {images.shape}"), name)
        count = len(checked_labels(where, f"{part}_labels", labels, data.classes))
        if count != len(images):
            raise ArgumentError(explain(where, f"{part} has a label for each image", f"{len(images)} images and {count} labels"))
    if data.train_images.shape[1:] != data.test_images.shape[1:]:
        got = f"{data.train_images.shape[1:]} to train and {data.test_images.shape[1:]} to test"
        raise ArgumentError(explain(where, "all images have one shape", got))
