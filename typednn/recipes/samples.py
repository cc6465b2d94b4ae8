"""Samples: the training and test data of a recipe, by name, from a folder, or from two CSV files; and their Scaling."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, TypeVar, final

import numpy as np
import numpy.typing as npt

from typednn.config.arguments import suggestion
from typednn.data import (
    DATASETS,
    PIXELS,
    Characters,
    Dataset,
    NotANumber,
    Pixels,
    Tokenizer,
    cifar10_pixels,
    class_names,
    find_mnist,
    load,
    load_pixels,
    mnist_pixels,
    read_csv,
    read_image_folder,
    read_text_folder,
    windows,
)
from typednn.data.dataset import first_images, moments
from typednn.data.text import TOKENS, padded
from typednn.errors import ArgumentError, DataError, explain
from typednn.random import PCG32
from typednn.tasks import Classification, Language, Regression

Floats: TypeAlias = npt.NDArray[np.float32]
Labels: TypeAlias = npt.NDArray[np.int64]
Inputs: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.uint8] | npt.NDArray[np.int32]

AnyTask: TypeAlias = Classification | Language | Regression
Numbers = TypeVar("Numbers")
_LABELS = Classification()

NAMES: tuple[str, ...] = ("auto", *DATASETS)
_ABOUT = {"digits": "scikit-learn's digits, 8x8 pixels resized to 28x28", "spiral": "three arms of a spiral"}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Inputs (n, ...) in float32, bytes as in their files, or tokens; and labels (n) or float32 targets. ``where`` describes the source."""

    name: str
    where: str
    x: Inputs
    y: Labels | Floats
    test_x: Inputs
    test_y: Labels | Floats
    names: tuple[str, ...] = ()
    """The classes' names; their numbers where there are none."""
    vocabulary: Tokenizer | Characters | None = None
    """Of a text, whose tokens ``x`` holds (n), and ``y`` too, until `shaped` makes windows of them. Its end is ``test_x``."""

    @property
    def classes(self) -> int:
        """How many there are: those that have names, or up to the largest label; of a text, the tokens of its vocabulary."""
        return len(self.vocabulary) if self.vocabulary is not None else len(self.names) or int(self.y.max()) + 1

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes, and the first images if they are images."""
        from typednn.html import facts, shown

        told: dict[str, object] = {"to train on": f"{len(self.x):,}", "to test": f"{len(self.test_x):,}"}
        labelled = self.vocabulary is None and self.y.dtype.kind in "iu"
        told |= {"classes": self.classes} if labelled else {"targets": self.y.dtype}
        return shown(f"{self.name}: {self.where}", facts(told), first_images(self.x, self.y, self.names) if labelled else "")

    def shaped(self, *sizes: int, stride: int | None = None) -> Samples:
        """Each input as an array of ``sizes``, the shape of one sample in the model; texts are cut or padded to it.

        Of a text, windows of that length, ``stride`` apart in training (`typednn.data.windows`).
        """
        if self.vocabulary is not None:
            pad = self.vocabulary.vocab.get("<pad>") if isinstance(self.vocabulary, Tokenizer) else None
            if len(sizes) != 1:
                got = "a model of other inputs"
                raise ArgumentError(explain(f"data {self.name!r}", "a text is read by a language model", got, "such as gpt2"))
            tokens: tuple[Any, Any] = (self.x, self.test_x)
            rows: list[Any] = [*windows(tokens[0], sizes[0], stride, pad=pad), *windows(tokens[1], sizes[0], pad=pad)]
            return replace(self, **dict(zip(("x", "y", "test_x", "test_y"), rows, strict=True)))
        if self.x.dtype == TOKENS and len(sizes) == 1:
            return replace(self, x=padded(self.x, sizes[0]), test_x=padded(self.test_x, sizes[0]))
        features = math.prod(sizes)
        for part, x in (("train", self.x), ("test", self.test_x)):
            if math.prod(x.shape[1:]) != features:
                raise ArgumentError(
                    explain(
                        f"data {self.name!r}",
                        f"the model reads {features} numbers per sample",
                        f"{' x '.join(map(str, x.shape[1:]))} in the {part} set",
                        "choose other data or another model",
                    )
                )
        return replace(self, x=self.x.reshape(len(self.x), *sizes), test_x=self.test_x.reshape(len(self.test_x), *sizes))

    def held_back(self, share: float) -> int:
        """The number of training samples in a ``share``: at least one unless the share is 0, and never all. A text's is in ``test_x``."""
        if self.vocabulary is not None:
            return 0
        return min(max(1, round(share * len(self.x))), len(self.x) - 1) if share else 0

    def split(self, share: float, seed: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows of the training samples without a ``share`` of them, and the rows of the share. ``seed`` decides which."""
        count = self.held_back(share)
        order = PCG32(seed, 1).permutation(len(self.x))
        return np.sort(order[count:]), np.sort(order[:count])


@final
@dataclass(frozen=True, slots=True)
class Scaling:
    """Inputs scaled by the training data's mean and deviation: ``(x - mean)/deviation``, in float32.

    It is saved with the run, so that new inputs are scaled alike.
    """

    mean: float = 0.0
    deviation: float = 1.0

    @classmethod
    def of(cls, x: npt.NDArray[Any]) -> Scaling:
        """Mean and deviation over every number of ``x``."""
        mean, deviation = moments(x)
        if not 0.0 < deviation < float("inf"):
            raise ArgumentError(
                explain(
                    "standardise",
                    "training inputs must be finite and differ somewhere",
                    f"deviation {deviation:g}",
                    "--set standardise=false takes them as they are",
                )
            )
        return cls(mean, deviation)

    def __call__(self, x: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """``x`` scaled, as a new array; tokens as they are."""
        if x.dtype == TOKENS:
            return x
        scaled: Floats = np.subtract(x, np.float32(self.mean), dtype=np.float32)
        scaled /= np.float32(self.deviation)
        return scaled


def load_data(name: str, announce: Callable[[str], object] | None = None) -> Samples:
    """The data set of that name, or the one in that folder; ``"auto"`` is MNIST where it is found, else scikit-learn's digits.

    A set that is not on this machine is downloaded (`typednn.data.load`), after a call of ``announce``. A folder holds the
    files of MNIST, of a set in its format or of CIFAR-10, or ``train`` and ``test``, each with a folder of PNG images, or of texts, per
    class.
    """
    if name == "auto":
        name = "digits" if find_mnist() is None else "mnist"
    if name in DATASETS:
        read: Callable[..., Dataset | Pixels] = load_pixels if name in PIXELS else load
        try:
            data = read(name, download=False)
        except DataError:
            if announce is not None:
                announce(f"{name} is not whole on this machine: fetching it from the network")
            data = read(name)
        place = find_mnist() if name == "mnist" else None
        where = _ABOUT.get(name, name) if place is None else f"{name} from {place}"
        return _of(name, data, where, class_names(name))
    folder = Path(name)
    if not folder.is_dir():
        raise ArgumentError(explain("--data", "expects a data set's name or a folder that exists", repr(name), suggestion(name, NAMES)))
    if (folder / "train").is_dir() and (folder / "test").is_dir():
        return _of_texts(folder) if _holds(folder, "train/*/*.txt") else _of_images(folder)
    try:
        data = cifar10_pixels(folder) if _holds(folder, "*.bin", "*.tar.gz") else mnist_pixels(folder)
    except DataError as error:
        if _holds(folder, "*ubyte*", "*.bin", "*.tar.gz"):
            raise
        raise DataError(
            explain(
                str(folder),
                "must hold the files of MNIST or CIFAR-10, or train and test with a folder of PNG images or texts per class",
                "none of these",
            )
        ) from error
    return _of(folder.resolve().name, data, str(folder), ())


def found_by(name: str, samples: Samples) -> dict[str, str]:
    """How a run finds ``samples`` of `load_data` for ``name`` again: by name, or by the folder's absolute path."""
    known = name in NAMES or (samples.vocabulary is not None and not Path(name).exists())
    return {"name": samples.name if known else str(Path(name).resolve())}


def _holds(folder: Path, *patterns: str) -> bool:
    return any(next(folder.glob(pattern), None) is not None for pattern in patterns)


def _of_images(folder: Path) -> Samples:
    train, test = read_image_folder(folder / "train"), read_image_folder(folder / "test")
    _same_classes(folder, train.names, test.names)
    (x, y), (test_x, test_y) = ((np.asarray(part.images, np.float32), np.asarray(part.labels, np.int64)) for part in (train, test))
    return Samples(folder.resolve().name, f"PNG images in {folder}", x, y, test_x, test_y, train.names)


def _of_texts(folder: Path) -> Samples:
    train, test = read_text_folder(folder / "train"), read_text_folder(folder / "test")
    _same_classes(folder, train.names, test.names)
    parts: Any = (train.tokens, train.labels, test.tokens, test.labels)
    x, y, test_x, test_y = parts
    return Samples(folder.resolve().name, f"texts in {folder}", x, y, test_x, test_y, train.names)


def _same_classes(folder: Path, train: tuple[str, ...], test: tuple[str, ...]) -> None:
    if train != test:
        got = f"{', '.join(train)} and {', '.join(test)}"
        raise DataError(explain(str(folder), "train and test must have folders of the same names", got))


def load_tables(train: str | Path, test: str | Path, task: AnyTask = _LABELS) -> Samples:
    """Two CSV files: the target in the first column, then the inputs. A first line of words is skipped.

    For a classification, the default, the target is a label, a whole number from 0; for a regression any number.
    """
    (x, y), (test_x, test_y) = (read_table(path, task) for path in (train, test))
    if x.shape[1] != test_x.shape[1]:
        raise DataError(explain(f"{train} and {test}", "must have as many inputs per row", f"{x.shape[1]} and {test_x.shape[1]}"))
    return Samples(Path(train).name, f"{train} and {test}", x, y, test_x, test_y)


def read_table(path: str | Path, task: AnyTask = _LABELS) -> tuple[Floats, Labels | Floats]:
    """Inputs and targets of one such file."""
    matrix = read_numbers(path)
    targets = task.column(str(path), matrix[:, 0].astype(np.float64))
    if matrix.shape[1] < 2:
        raise DataError(explain(str(path), "a row holds a target and at least one input", "one number"))
    return np.ascontiguousarray(matrix[:, 1:]), targets


def read_numbers(path: str | Path) -> npt.NDArray[np.float32]:
    """The matrix in a CSV file, without a first line of words."""
    return without_words(lambda header: read_csv(path, header=header))


def without_words(read: Callable[[int], Numbers]) -> Numbers:
    """The numbers of a CSV file. ``read`` gets the number of lines to skip, which is 1 where the first line holds words."""
    try:
        return read(0)
    except NotANumber as error:
        if error.row != 1:
            raise
        return read(1)


def _of(name: str, data: Dataset | Pixels, where: str, names: tuple[str, ...]) -> Samples:
    x, test_x = (images if images.dtype == np.uint8 else np.asarray(images, np.float32) for images in (data.train_images, data.test_images))
    y, test_y = (np.asarray(labels, np.int64) for labels in (data.train_labels, data.test_labels))
    return Samples(name, where, x, y, test_x, test_y, names)
