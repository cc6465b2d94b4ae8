"""Images that stay in their files and are decoded when their rows are read, so that a folder may be larger than memory.

    photos/                       or    photos/
        train/  cats/ a.jpg … dogs/ …       cats/ a.jpg …    ``test`` of each class is kept apart, drawn by ``seed``
        val/    cats/ …       dogs/ …       dogs/ b.png …
        test/   cats/ …       dogs/ …

`open_image_folder` lists the files and reads their first bytes; pixels are read by a `typednn.data.Loader`, a batch at
a time, and with ``workers=`` by several threads: Pillow decodes without the interpreter's lock.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import flag, integer, number, pair
from typednn.arrays import IntArray1
from typednn.data.class_folders import class_folders, part_folders
from typednn.data.dataset import Bytes
from typednn.data.images import check_image, image_size, read_image
from typednn.data.splitting import split
from typednn.errors import ArgumentError, DataError, explain
from typednn.files import limit_of, path_of
from typednn.screen import brief


@final
@dataclass(frozen=True, slots=True, eq=False)
class ImageFiles:
    """Images (n, height, width, channels) of bytes, indexed as an array is: ``images[rows]`` decodes these rows,
    ``images[7]`` one.

    An image of another size is resized so that it covers ``size``, and its middle is cut out. ``numpy.asarray(images)``
    decodes all. A file that is damaged is a `DataError` that names it, when it is read.
    """

    paths: tuple[Path, ...]
    size: tuple[int, int]
    channels: int = 3
    limit: int | None = None
    """How many bytes of memory the pixels of one image may take (`typednn.files`)."""
    sample: tuple[int, ...] = field(default=())
    """The shape of one image as it is given; by default height, width and channels."""

    def __repr__(self) -> str:
        return brief(self)

    @property
    def dtype(self) -> np.dtype[np.uint8]:
        """Unsigned bytes."""
        return np.dtype(np.uint8)

    @property
    def shape(self) -> tuple[int, ...]:
        """As an array's."""
        return len(self.paths), *(self.sample or (*self.size, self.channels))

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, rows: Any) -> Bytes:
        if np.ndim(rows) == 0 and not isinstance(rows, slice):
            return self._decoded(self.paths[int(rows)])
        if isinstance(rows, tuple):
            raise ArgumentError(
                explain("ImageFiles", "images are indexed by rows", "tuple", "write images[rows][:, :5]"), "rows"
            )
        chosen: npt.NDArray[np.int64] = np.arange(len(self.paths))[rows]
        images = np.empty((len(chosen), *self.shape[1:]), np.uint8)
        for place, row in enumerate(chosen):
            images[place] = self._decoded(self.paths[int(row)])
        return images

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return self[:] if dtype is None else self[:].astype(dtype)

    def taken(self, rows: IntArray1) -> "ImageFiles":
        """Those rows, not decoded."""
        return self._with(tuple(self.paths[int(row)] for row in rows), self.sample)

    def reshape(self, rows: int, *sample: int) -> "ImageFiles":
        """The same images, each in the shape ``sample``; not decoded. ``rows`` is their number."""
        if rows != len(self) or math.prod(sample) != math.prod(self.shape[1:]):
            raise ArgumentError(
                explain("ImageFiles.reshape", f"there are {len(self)} images of {self.shape[1:]}", f"{(rows, *sample)}")
            )
        return self._with(self.paths, sample)

    def _with(self, paths: tuple[Path, ...], sample: tuple[int, ...]) -> "ImageFiles":
        return ImageFiles(paths, self.size, self.channels, self.limit, sample)

    def _decoded(self, path: Path) -> Bytes:
        pixels = read_image(path, size=self.size, resize="crop", channels=self.channels, limit=self.limit)
        decoded: Bytes = np.rint(pixels).astype(np.uint8).reshape(self.shape[1:])
        return decoded


@final
@dataclass(frozen=True, slots=True, eq=False)
class ImageSets:
    """Images in files and their labels (n), in parts: to train, to validate (None where there are none apart) and to
    test.

    ``names`` are the classes', ``skipped`` the files that were left out because they are damaged.
    """

    train_images: ImageFiles
    train_labels: IntArray1
    test_images: ImageFiles
    test_labels: IntArray1
    validation_images: ImageFiles | None
    validation_labels: IntArray1 | None
    names: tuple[str, ...]
    skipped: tuple[Path, ...] = ()

    def __repr__(self) -> str:
        return brief(self)


def open_image_folder(
    folder: str | Path,
    *,
    size: int | Sequence[int] | None = None,
    channels: int = 3,
    test: float = 0.2,
    seed: int = 0,
    skip_damaged: bool = False,
    limit: int | None = None,
) -> ImageSets:
    """The images below ``folder``, with a folder per class; they are decoded when they are read.

    ``size`` is one number or (height, width), by default the first image's; ``channels`` is 3, or 1 for grey. A folder
    that holds ``train`` and ``test``, ``validation`` (or ``valid``, ``val``), or both, is used as it is; where only
    ``validation`` is beside ``train``, it is the test part. Of any other folder ``test`` of each class is kept apart to
    test, drawn by ``seed`` (`typednn.data.split`). Classes have the same names in every part. ``skip_damaged`` decodes
    every image at once and leaves out what is damaged or no image; without it that is an error that names the file,
    when the folder is opened for what begins as no image, and when it is read for the rest.
    """
    where = path_of("open_image_folder", folder)
    if type(channels) is not int or channels not in (1, 3):
        raise ArgumentError(explain("open_image_folder", "channels must be 1, grey, or 3", repr(channels)), "channels")
    number("open_image_folder", "test", test, least=0.0, below=1.0)
    integer("open_image_folder", "seed", seed, 0)
    flag("open_image_folder", "skip_damaged", skip_damaged)
    places = part_folders(where) or {"all": where}
    found = {part: class_folders(str(place), "images") for part, place in places.items()}
    names = tuple(next(iter(found.values())))
    for part, classes in found.items():
        if tuple(classes) != names:
            got = f"{', '.join(names)} and {', '.join(classes)}"
            raise DataError(explain(str(where), f"train and {part} must have folders of the same names", got))
    expected = None if size is None else pair("open_image_folder", "size", size)
    most = limit_of("open_image_folder", limit)
    skipped: list[Path] = []
    parts: dict[str, tuple[list[Path], list[int]]] = {}
    for part, classes in found.items():
        paths, labels = parts[part] = [], []
        for label, files in enumerate(classes.values()):
            for path in files:
                try:
                    check_image(path)
                    expected = expected or image_size(path)
                    if skip_damaged:
                        read_image(path, size=expected, resize="crop", channels=channels, limit=most)
                except DataError:
                    if not skip_damaged:
                        raise
                    skipped.append(path)
                    continue
                paths.append(path)
                labels.append(label)
        for label, name in enumerate(names):
            if label not in labels:
                raise DataError(
                    explain(str(places[part]), "each class must have images", f"none that can be read in {name!r}")
                )
    assert expected is not None, "there is an image, or an error above"
    opened = {
        part: (ImageFiles(tuple(paths), expected, channels, most), np.asarray(labels))
        for part, (paths, labels) in parts.items()
    }
    if "all" in opened:
        images, numbers = opened["all"]
        rows, apart = split(numbers, test, seed=seed)
        opened = {"train": (images.taken(rows), numbers[rows]), "test": (images.taken(apart), numbers[apart])}
    train = opened["train"]
    held: tuple[ImageFiles | None, IntArray1 | None] = opened.get("validation", (None, None))
    tested = opened["test"] if "test" in opened else opened["validation"]
    if "test" not in opened:
        held = (None, None)
    return ImageSets(*train, *tested, *held, names=names, skipped=tuple(skipped))
