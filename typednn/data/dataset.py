"""Dataset: labelled images, a training part and a test part. Pixels: the same as bytes, as the files hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer
from typednn.arrays import Array4, IntArray1, described, is_array
from typednn.data.labels import checked_labels
from typednn.errors import ArgumentError, explain
from typednn.screen import brief

Bytes: TypeAlias = npt.NDArray[np.uint8]
_SHOWN = 12  # images in a notebook
Images = TypeVar("Images", bound=np.ndarray[Any, Any])


@dataclass(frozen=True, slots=True, eq=False)
class _Images(Generic[Images]):
    """Images (n, height, width, channels) of one dtype and labels (n) in ``0 … classes-1``. The arrays are never
    written.
    """

    train_images: Images
    train_labels: IntArray1
    test_images: Images
    test_labels: IntArray1
    classes: int = 10
    _dtype: ClassVar[np.dtype[Any]]

    def __post_init__(self) -> None:
        where = type(self).__name__
        integer(where, "classes", self.classes)
        for part, images, labels in (
            ("train", self.train_images, self.train_labels),
            ("test", self.test_images, self.test_labels),
        ):
            name = f"{part}_images"
            if not is_array(images) or images.ndim != 4 or images.dtype != self._dtype:
                raise ArgumentError(
                    explain(
                        where, f"{name} must be {self._dtype} of shape (n, height, width, channels)", described(images)
                    ),
                    name,
                )
            if not images.size:
                raise ArgumentError(
                    explain(where, f"{name} must hold at least one image", f"shape {images.shape}"), name
                )
            count = len(checked_labels(where, f"{part}_labels", labels, self.classes))
            if count != len(images):
                raise ArgumentError(
                    explain(where, f"{part} has a label for each image", f"{len(images)} images and {count} labels")
                )
        if self.train_images.shape[1:] != self.test_images.shape[1:]:
            got = f"{self.train_images.shape[1:]} to train and {self.test_images.shape[1:]} to test"
            raise ArgumentError(explain(where, "all images have one shape", got))

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes, and the first images."""
        from typednn.html import facts, shown

        counts = {
            "to train on": f"{len(self.train_labels):,}",
            "to test": f"{len(self.test_labels):,}",
            "classes": self.classes,
        }
        return shown(type(self).__name__, facts(counts), first_images(self.train_images, self.train_labels))


def first_images(images: Any, labels: npt.NDArray[Any], names: Sequence[str] = ()) -> str:
    """The shape and the first images, of an array or of files, for a notebook; each with its label or that label's
    name.
    """
    from typednn.html import facts, number
    from typednn.html import images as pictures

    told = {"each": f"{' × '.join(map(str, images.shape[1:]))} {images.dtype}"}
    if images.ndim != 4 or images.shape[3] not in (1, 3):
        return facts(told)
    first = images[:_SHOWN]
    told |= {"from": number(float(first.min())), "to": number(float(first.max()))}
    words = [names[label] if label < len(names) else label for label in labels[:_SHOWN].tolist()]
    return facts(told) + pictures(first, words)


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dataset(_Images[Array4]):
    """Images (n, height, width, channels) in float32 and labels (n) in ``0 … classes-1``. The arrays
    are never written.
    """

    _dtype = np.dtype(np.float32)

    def standardised(self) -> Dataset:
        """The same, scaled so that training images have mean 0 and deviation 1; test images are scaled by the
        *training* moments.
        """
        mean, deviation = moments(self.train_images)
        if not deviation > 0.0:
            raise ArgumentError(
                explain("Dataset.standardised", "training images must differ somewhere", f"{mean:g} in every pixel")
            )

        train, test = (
            (images - np.float32(mean)) / np.float32(deviation) for images in (self.train_images, self.test_images)
        )
        return replace(self, train_images=train, test_images=test)

    def limited(self, train: int) -> Dataset:
        """The same with the first ``train`` training images only; all test images are kept."""
        train = integer("Dataset.limited", "train", train)
        return replace(self, train_images=self.train_images[:train], train_labels=self.train_labels[:train])


@final
@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pixels(_Images[Bytes]):
    """Images (n, height, width, channels) in unsigned bytes, a quarter of what a `Dataset` takes, and
    their labels (n).
    """

    _dtype = np.dtype(np.uint8)

    def dataset(self) -> Dataset:
        """The same numbers in float32."""
        train, test = (images.astype(np.float32, order="C") for images in (self.train_images, self.test_images))
        return Dataset(train, self.train_labels, test, self.test_labels, self.classes)


def moments(numbers: npt.NDArray[Any]) -> tuple[float, float]:
    """Mean and standard deviation over all ``numbers``, summed in float64, some rows at a time.

    A float32 sum over 47 million pixels loses digits, and the deviation would be off by several percent.
    """
    rows = max(1, (1 << 16) * len(numbers) // numbers.size)  # so many numbers, in float64, fit in a cache
    chunks = [numbers[start : start + rows] for start in range(0, len(numbers), rows)]
    wide = np.result_type(numbers.dtype, np.float32)
    mean = sum(float(np.asarray(chunk, wide).sum(dtype=np.float64)) for chunk in chunks) / numbers.size
    squares = sum(float(np.square(np.asarray(chunk, wide) - mean, dtype=np.float64).sum()) for chunk in chunks)
    return mean, float(np.sqrt(squares / numbers.size))


def rescaled(pixels: npt.NDArray[Any]) -> npt.NDArray[np.float32]:
    """Pixels from 0 to 255 as float32 from 0 to 1: a ``transform`` for a `Loader`, `typednn.training.Evaluation` or
    ``evaluate``.
    """
    return np.asarray(pixels, np.float32) / np.float32(255)
