"""Samples: the training and test data of a recipe, by name or from a folder, and their Scaling.

Tables are read by `typednn.recipes.tables`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias, final

import numpy as np
import numpy.typing as npt

from typednn.data import (
    DATASETS,
    PIXELS,
    Dataset,
    Encoding,
    ImageFiles,
    Pixels,
    Tokenizer,
    cifar10_pixels,
    class_names,
    find_mnist,
    folds,
    load,
    load_pixels,
    mnist_pixels,
    open_image_folder,
    read_image_folder,
    read_text_folder,
    split,
    windows,
)
from typednn.data.class_folders import inside, part_folders
from typednn.data.dataset import first_images, moments
from typednn.data.text import TOKENS, padded
from typednn.data.vocabulary import Stored
from typednn.errors import ArgumentError, DataError, explain, suggestion
from typednn.random import PCG32
from typednn.screen import brief
from typednn.tasks import Classification, Language, Regression

Floats: TypeAlias = npt.NDArray[np.float32]
Labels: TypeAlias = npt.NDArray[np.int64]
Exact: TypeAlias = npt.NDArray[np.float64]
Inputs: TypeAlias = (
    npt.NDArray[np.float32]
    | Exact
    | npt.NDArray[np.uint8]
    | npt.NDArray[np.int32]
    | npt.NDArray[np.uint16]
    | ImageFiles
)

AnyTask: TypeAlias = Classification | Language | Regression

NAMES: tuple[str, ...] = ("auto", *DATASETS)
TEST_SHARE = 0.2  # of data that have no test part of their own
IN_MEMORY = 1 << 29  # bytes of pixels, up to which images are decoded once; more are decoded anew in each epoch
MEASURED = 1000  # images in files whose mean and deviation stand for all
_ABOUT = {"digits": "scikit-learn's digits, 8x8 pixels resized to 28x28", "spiral": "three arms of a spiral"}


@final
@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Inputs (n, ...) and labels (n) or targets. ``where`` describes the source.

    Inputs are in float32, in float64 where they are a table's numbers, which are scaled first, bytes as in their files,
    or tokens. Inputs may be `typednn.data.ImageFiles`, which are decoded when they are read.
    """

    name: str
    where: str
    x: Inputs
    y: Labels | Floats | Exact
    test_x: Inputs
    test_y: Labels | Floats | Exact
    names: tuple[str, ...] = ()
    """The classes' names; their numbers where there are none."""
    vocabulary: Stored | None = None
    """Of a text, whose tokens ``x`` holds (n), and ``y`` too, until `shaped` makes windows of them. Its end is
    ``test_x``.
    """
    validation: int = 0
    """How many samples at the end of ``x`` are a validation part of their own; 0 where a share is drawn."""
    columns: tuple[str, ...] = ()
    """The names of a table's inputs, if it has them: the columns of ``x``."""
    encoding: Encoding | None = None
    """How the columns of a table became those of ``x``."""
    told: str = ""
    """How a table was read, in a line: names, delimiter, decimal mark, target, task and classes."""
    source: Mapping[str, str] = field(default_factory=dict[str, str])
    """How a run finds the data again: the arguments of `load_data` (``name``, …) or of `load_tables` (``train``, …), as
    texts.
    """

    @property
    def classes(self) -> int:
        """How many there are: those that have names, or up to the largest label; of a text, the tokens of its
        vocabulary.
        """
        return len(self.vocabulary) if self.vocabulary is not None else len(self.names) or int(self.y.max()) + 1

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes, and the first images if they are images."""
        from typednn.html import facts, shown

        told: dict[str, object] = {"to train on": f"{len(self.x):,}", "to test": f"{len(self.test_x):,}"}
        labelled = self.vocabulary is None and self.y.dtype.kind in "iu"
        told |= {"classes": self.classes} if labelled else {"targets": self.y.dtype}
        return shown(
            f"{self.name}: {self.where}", facts(told), first_images(self.x, self.y, self.names) if labelled else ""
        )

    def shaped(self, *sizes: int, stride: int | None = None) -> Samples:
        """Each input as an array of ``sizes``, the shape of one sample in the model; texts are cut or padded to it.

        Of a text, windows of that length, ``stride`` apart in training (`typednn.data.windows`).
        """
        if self.vocabulary is not None:
            pad = self.vocabulary.vocab.get("<pad>") if isinstance(self.vocabulary, Tokenizer) else None
            if len(sizes) != 1:
                got = "a model of other inputs"
                raise ArgumentError(
                    explain(f"data {self.name!r}", "a text is read by a language model", got, "such as gpt2")
                )
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
        return replace(
            self, x=self.x.reshape(len(self.x), *sizes), test_x=self.test_x.reshape(len(self.test_x), *sizes)
        )

    def held_back(self, share: float) -> int:
        """The number of training samples in a ``share``: at least one unless the share is 0, and never all. A text's is
        in ``test_x``.
        """
        if self.vocabulary is not None:
            return 0
        if self.validation:
            return self.validation if share else 0
        return min(max(1, round(share * len(self.x))), len(self.x) - 1) if share else 0

    def split(
        self, share: float, seed: int, stratify: bool = False, fold: str = ""
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The rows of the training samples without a ``share`` of them, and the rows of the share; of each class, if
        that is to ``stratify``. ``seed`` decides which. A ``fold``, such as "2/5", is that part instead, of each class.
        """
        if fold:
            if self.validation:
                got, cure = "data with a validation part of their own", "leave folds out, or join both parts"
                raise ArgumentError(explain(f"data {self.name!r}", "folds are of all training samples", got, cure))
            number, count = fold_of("fold", fold)
            labels: Any = self.y if self.y.dtype.kind == "i" else len(self.y)
            return folds(labels, count, seed=seed)[number - 1]
        count = self.held_back(share)
        if self.validation:
            rows = np.arange(len(self.x))
            return rows[: len(rows) - count], rows[len(rows) - count :]
        if stratify and count and self.y.dtype.kind == "i" and np.bincount(np.asarray(self.y, np.int64)).max() > 1:
            return split(np.asarray(self.y, np.int64), share, seed=seed)
        order = PCG32(seed, 1).permutation(len(self.x))
        return np.sort(order[count:]), np.sort(order[:count])


def fold_of(where: str, text: str) -> tuple[int, int]:
    """Of ``"2/5"`` 2 and 5: which part is held out, and how many there are."""
    number, slash, count = text.partition("/")
    if not (slash and number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count) and int(count) >= 2):
        rule = "fold is one part of two or more"
        raise ArgumentError(explain(where, rule, repr(text), "such as 2/5, the second of five"), "fold")
    return int(number), int(count)


@final
@dataclass(frozen=True, slots=True)
class Scaling:
    """Numbers scaled by the training data's mean and deviation: ``(x - mean)/deviation``, in float32; one pair for all,
    or one per column.

    It is saved with the run, so that new inputs are scaled alike.
    """

    mean: float | tuple[float, ...] = 0.0
    deviation: float | tuple[float, ...] = 1.0

    @classmethod
    def of_columns(cls, rows: npt.NDArray[Any]) -> Scaling:
        """Mean and deviation of each column of ``rows`` (n, columns), summed in float64; a column of equal numbers has
        the deviation 1.
        """
        exact = np.asarray(rows, np.float64)
        if not np.isfinite(exact).all():
            raise ArgumentError(explain("standardise", "training data must be finite", "NaN or infinity"))
        mean, deviation = exact.mean(axis=0), exact.std(axis=0)
        deviation[deviation <= 1e-12 * np.abs(mean)] = 1.0
        return cls(tuple(mean.tolist()), tuple(deviation.tolist()))

    @classmethod
    def of(cls, x: npt.NDArray[Any] | ImageFiles) -> Scaling:
        """Mean and deviation over every number of ``x``; of images in files, over `MEASURED` of them, evenly spaced."""
        mean, deviation = moments(x[:: -(-len(x) // MEASURED)] if isinstance(x, ImageFiles) else x)
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
        if x.dtype in (TOKENS, np.uint16):
            return x
        if (
            (x.dtype == np.float32 or x.dtype == np.uint8)
            and isinstance(self.mean, float)
            and isinstance(self.deviation, float)
        ):
            scaled: Floats = np.subtract(x, np.float32(self.mean), dtype=np.float32)
            scaled /= np.float32(self.deviation)
            return scaled
        centred: Exact = np.subtract(x, self.mean, dtype=np.float64)  # float32 would lose what differs in large numbers
        centred /= self.deviation
        return centred.astype(np.float32)


def load_data(
    name: str,
    announce: Callable[[str], object] | None = None,
    *,
    image: tuple[int, int, int] | None = None,
    seed: int = 0,
    skip_damaged: bool = False,
    stream: bool | None = None,
) -> Samples:
    """The data set of that name, or the one in that folder; ``"auto"`` is MNIST where it is found, else scikit-learn's
    digits.

    A set that is not on this machine is downloaded (`typednn.data.load`), after a call of ``announce``. A folder holds
    the files of MNIST, of a set in its format or of CIFAR-10; or images in a folder per class, in ``train`` and
    ``test`` or together (`typednn.data.open_image_folder`); or ``train`` and ``test``, each with a folder of texts per
    class.

    The other arguments are for folders of images. ``image`` is (height, width, channels), to which images are brought;
    without it they are grey and all have the size of the first. ``seed`` draws the test part of a folder that has none.
    ``stream`` says whether images stay in their files until their batch is made; by default they do where their pixels
    would take more than `IN_MEMORY`.
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
        raise ArgumentError(
            explain("--data", "expects a data set's name or a folder that exists", repr(name), suggestion(name, NAMES))
        )
    if part_folders(folder) and _holds(folder, "train/*/*.txt"):
        return _of_texts(folder)
    if is_image_folder(folder):
        if image is None and {"train", "test"} <= part_folders(folder).keys():
            return _of_images(folder)
        return _of_files(folder, image, seed, skip_damaged, stream)
    try:
        data = cifar10_pixels(folder) if _holds(folder, "*.bin", "*.tar.gz") else mnist_pixels(folder)
    except DataError as error:
        if _holds(folder, "*ubyte*", "*.bin", "*.tar.gz"):
            raise
        raise DataError(
            explain(
                str(folder),
                "must hold a folder of images for each class, or such folders in train and test, or the files "
                "of MNIST or CIFAR-10",
                "none of these",
            )
        ) from error
    return _of(folder.resolve().name, data, str(folder), ())


def is_image_folder(folder: Path) -> bool:
    """Whether a folder holds classes of images, in parts or not: folders, no texts, and none of the files of MNIST or
    CIFAR-10.
    """
    if part_folders(folder):
        return not _holds(folder, "train/*/*.txt")
    return not _holds(folder, "*ubyte*", "*.bin", "*.tar.gz") and any(place.is_dir() for place in inside(folder))


def found_by(name: str, samples: Samples) -> dict[str, str]:
    """How a run finds ``samples`` of `load_data` for ``name`` again: by name, or by the folder's absolute path."""
    if samples.source:
        return dict(samples.source)
    known = name in NAMES or (samples.vocabulary is not None and not Path(name).exists())
    return {"name": samples.name if known else str(Path(name).resolve())}


def _holds(folder: Path, *patterns: str) -> bool:
    return any(next(folder.glob(pattern), None) is not None for pattern in patterns)


def _of_images(folder: Path) -> Samples:
    train, test = read_image_folder(folder / "train"), read_image_folder(folder / "test")
    _same_classes(folder, train.names, test.names)
    (x, y), (test_x, test_y) = (
        (np.asarray(part.images, np.float32), np.asarray(part.labels, np.int64)) for part in (train, test)
    )
    return Samples(folder.resolve().name, f"images in {folder}", x, y, test_x, test_y, train.names)


def _of_files(
    folder: Path, image: tuple[int, int, int] | None, seed: int, skip_damaged: bool, stream: bool | None
) -> Samples:
    size, channels = (None, 1) if image is None else (image[:2], image[2])
    sets = open_image_folder(
        folder, size=size, channels=channels, test=TEST_SHARE, seed=seed, skip_damaged=skip_damaged
    )
    image = (*sets.train_images.size, channels)
    height, width = sets.train_images.size
    x, y, held = sets.train_images, sets.train_labels, sets.validation_images
    if held is not None:
        x, y = replace(x, paths=(*x.paths, *held.paths)), np.concatenate([y, np.asarray(sets.validation_labels)])
    streamed = (len(x) + len(sets.test_images)) * math.prod(image) > IN_MEMORY if stream is None else stream
    train, test = (files if streamed else files[:] for files in (x, sets.test_images))
    left_out = f", {len(sets.skipped):,} damaged files left out" if sets.skipped else ""
    where = f"images in {folder}, {height} x {width} in {'grey' if channels == 1 else 'colour'}{left_out}"
    source = {"name": str(folder.resolve()), "image": "x".join(map(str, image)), "seed": str(seed)}
    source |= {"skip_damaged": str(skip_damaged).lower(), "stream": str(streamed).lower()}
    labels: Any = (np.asarray(y, np.int64), np.asarray(sets.test_labels, np.int64))
    validation = 0 if held is None else len(held)
    return Samples(
        folder.resolve().name,
        where,
        train,
        labels[0],
        test,
        labels[1],
        sets.names,
        validation=validation,
        source=source,
    )


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


def _of(name: str, data: Dataset | Pixels, where: str, names: tuple[str, ...]) -> Samples:
    x, test_x = (
        images if images.dtype == np.uint8 else np.asarray(images, np.float32)
        for images in (data.train_images, data.test_images)
    )
    y, test_y = (np.asarray(labels, np.int64) for labels in (data.train_labels, data.test_labels))
    return Samples(name, where, x, y, test_x, test_y, names)
