"""PNG images, alone or in folders: a folder per class. Needs Pillow, the extra ``typednn[images]``.

    digits/                      names, sorted, become the labels 0, 1, …
        eight/   a.png b.png     → label 0
        three/   c.png           → label 1

Pixels are float32 from 0 to 255, in grey (the luma of ITU-R 601) or in three channels. Transparent pixels are put on black;
16 bits become 8 with a fraction. Only PNG is read, whatever a file is called, of at most 2²⁴ pixels and 2¹⁴ in a row or column;
the header is compared with that, and pixels and file with the memory limit (`typednn.files`), before a pixel is unpacked.
"""

import math
import struct
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, final

import numpy as np

from typednn.arguments import integer, pair
from typednn.arrays import Array3, Array4, IntArray1
from typednn.data.class_folders import class_folders
from typednn.data.dataset import first_images
from typednn.errors import ArgumentError, DataError, explain, optional
from typednn.files import allow, limit_of, opened, path_of

_MOST_PIXELS = 1 << 24
_LONGEST_SIDE = 1 << 14  # very long images take Pillow seconds, and memory for each row


@final
@dataclass(frozen=True, slots=True, eq=False)
class ImageFolder:
    """Images (n, height, width, channels), labels (n) in ``0 … len(names)-1``, the classes' names, and where each image came from."""

    images: Array4
    labels: IntArray1
    names: tuple[str, ...]
    paths: tuple[Path, ...]

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes, and the first image of each class."""
        from typednn.html import facts, shown

        counts = {"images": f"{len(self.labels):,}", "classes": len(self.names)}
        _, first = np.unique(self.labels, return_index=True)
        return shown("ImageFolder", facts(counts), first_images(self.images[first], self.labels[first], self.names))


def image_size(path: str | Path) -> tuple[int, int]:
    """Height and width of a PNG image, from its header alone; needs no Pillow."""
    with opened("image_size", path) as file:
        return _size(file.stream, file.where)


def _size(file: BinaryIO, where: str) -> tuple[int, int]:
    start = file.read(24)
    if len(start) < 24 or start[:8] != b"\x89PNG\r\n\x1a\n" or start[12:16] != b"IHDR":
        raise DataError(
            explain(where, "must be a PNG image", f"a file that begins with {start[:8].hex(' ') or 'an empty file'}", "save it as PNG")
        )
    width, height = struct.unpack(">2I", start[16:24])
    if not 0 < width * height <= _MOST_PIXELS or max(width, height) > _LONGEST_SIDE:
        rule = f"an image has 1 to {_MOST_PIXELS} pixels, and at most {_LONGEST_SIDE} in a row or column"
        raise DataError(explain(where, rule, f"{height} x {width}", "make it smaller"))
    return height, width


def read_image(
    path: str | Path,
    *,
    size: int | Sequence[int] | None = None,
    resize: bool = False,
    channels: int = 1,
    invert: bool = False,
    limit: int | None = None,
) -> Array4:
    """One PNG image, (1, height, width, channels).

    ``size`` is the required size: one number or (height, width). With ``resize=True`` an image of another size is resized to
    it, and stretched if its proportions differ; `image_size` gives the size in the file. ``invert`` turns dark ink on white into MNIST's
    white ink on black. ``limit`` is how many bytes of memory the pixels may take; see `typednn.files`.
    """
    expected = None if size is None else pair("read_image", "size", size)
    if type(channels) is not int or channels not in (1, 3):
        raise ArgumentError(explain("read_image", "channels must be 1, grey, or 3", repr(channels)), "channels")
    with opened("read_image", path, limit) as file:
        height, width = _size(file.stream, file.where)
        rows, columns = expected or (height, width)
        other = (rows, columns) != (height, width)
        if other and not resize:
            cure = "pass resize=True to bring it to that size"
            raise DataError(explain(file.where, f"the image must be {rows} x {columns}", f"{height} x {width}", cure))
        file.take(16 * (height * width + (rows * columns if other else 0)))  # twice the memory that is in use at once
        pillow = optional("PIL.Image", "read_image", "needs Pillow to read PNG images", "pip install typednn[images]")
        file.stream.seek(0)
        content = BytesIO(file.exactly(file.stream, file.size))  # Pillow reads a chunk at once, of the length that the chunk states
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Pillow's warnings about odd files don't concern the caller
                with pillow.open(content, formats=("PNG",)) as image:
                    if image.size != (width, height):  # before they are unpacked
                        raise ValueError("two sizes in one file")
                    pixels = _pixels(pillow, image, channels)
                if other:
                    pixels = _resized(pillow, pixels, (rows, columns))
        except MemoryError:
            raise
        except Exception as error:  # Pillow raises many kinds of errors for damaged images
            got = str(error) or type(error).__name__
            raise DataError(explain(file.where, "must be a whole PNG image", got[:200], "save it anew")) from None
    return (255.0 - pixels if invert else pixels)[np.newaxis]


def read_image_folder(
    folder: str | Path,
    *,
    size: int | Sequence[int] | None = None,
    resize: bool = False,
    channels: int = 1,
    invert: bool = False,
    limit: int | None = None,
) -> ImageFolder:
    """Every PNG image below ``folder``, which holds a folder per class; classes and files in the order of their names.

    All images have the size of the first, or ``size``; with ``resize=True`` others are resized to it. Names that begin with a
    dot are skipped; any other file that is no PNG image is an error that names it. ``limit`` is how many bytes they may take together.
    """
    where = str(path_of("read_image_folder", folder))
    classes = class_folders(where, "PNG images")
    paths = tuple(path for inside in classes.values() for path in inside)
    expected = image_size(paths[0]) if size is None else pair("read_image_folder", "size", size)
    shape = (len(paths), *expected, integer("read_image_folder", "channels", channels))
    allow(where, 4 * math.prod(shape), limit_of("read_image_folder", limit))
    images = np.empty(shape, np.float32)
    for row, path in enumerate(paths):
        images[row] = read_image(path, size=expected, resize=resize, channels=channels, invert=invert, limit=limit)[0]
    return ImageFolder(images, np.repeat(np.arange(len(classes)), [*map(len, classes.values())]), tuple(classes), paths)


def _pixels(pillow: Any, image: Any, channels: int) -> Array3:
    if image.mode.startswith("I"):  # 16 bits: 65535 / 257 = 255
        return np.repeat(np.asarray(image, np.float32)[..., np.newaxis] / np.float32(257), channels, axis=2)
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        image = pillow.alpha_composite(pillow.new("RGBA", image.size, (0, 0, 0, 255)), image)
    return np.asarray(image.convert("L" if channels == 1 else "RGB"), np.float32).reshape(image.height, image.width, channels)


def _resized(pillow: Any, pixels: Array3, size: tuple[int, int]) -> Array3:
    """Bilinear; where the image becomes smaller, the average over the area of each new pixel."""
    planes = [pillow.fromarray(np.ascontiguousarray(pixels[..., channel])) for channel in range(pixels.shape[2])]
    return np.stack([np.asarray(plane.resize(size[::-1], pillow.Resampling.BILINEAR), np.float32) for plane in planes], axis=2)
