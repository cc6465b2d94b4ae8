"""Images in PNG, JPEG, GIF, BMP and WebP, alone or in folders: a folder per class. Needs Pillow, the extra
``typednn[images]``.

    digits/                      names, sorted, become the labels 0, 1, …
        eight/   a.png b.png     → label 0
        three/   c.jpg           → label 1

Pixels are float32 from 0 to 255, in grey (the luma of ITU-R 601) or in three channels. Transparent pixels are put on
black; 16 bits become 8 with a fraction. Of an animation the first picture is read. A photograph is turned as its EXIF
orientation says (but for PNG). The format is told by a file's first bytes, whatever it is called. An image has at most
2¹⁴ pixels in a row or column; in all, 2²⁴ in a PNG and what Pillow allows (`PIL.Image.MAX_IMAGE_PIXELS`, 89 million) in
the other formats. The header is compared with that, and pixels and file with the memory limit (`typednn.files`), before
a pixel is unpacked.
"""

import math
import struct
import threading
import warnings
import zlib
from collections.abc import Generator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, Literal, TypeAlias, final

import numpy as np

from typednn.arguments import integer, pair
from typednn.arrays import Array3, Array4, IntArray1
from typednn.data.class_folders import class_folders
from typednn.data.dataset import first_images
from typednn.errors import ArgumentError, DataError, TypednnError, explain, optional
from typednn.files import File, allow, held, limit_of, opened, path_of
from typednn.screen import brief

_MOST_PIXELS = 1 << 24
_LONGEST_SIDE = 1 << 14  # very long images take Pillow seconds, and memory for each row
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP")
_BEGINNINGS = (b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"RIFF")
_ORIENTATION = 0x0112  # of EXIF
_TURNED = (5, 6, 7, 8)  # orientations that make rows of columns

ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp")

Resize: TypeAlias = bool | Literal["crop"]


@final
@dataclass(frozen=True, slots=True, eq=False)
class ImageFolder:
    """Images (n, height, width, channels), labels (n) in ``0 … len(names)-1``, the classes' names, and where each image
    came from.
    """

    images: Array4
    labels: IntArray1
    names: tuple[str, ...]
    paths: tuple[Path, ...]

    def __repr__(self) -> str:
        return brief(self)

    def _repr_html_(self) -> str:
        """What a notebook shows: sizes, and the first image of each class."""
        from typednn.html import facts, shown

        counts = {"images": f"{len(self.labels):,}", "classes": len(self.names)}
        _, first = np.unique(self.labels, return_index=True)
        return shown("ImageFolder", facts(counts), first_images(self.images[first], self.labels[first], self.names))


def image_size(path: str | Path) -> tuple[int, int]:
    """Height and width of an image, from its header alone, as `read_image` gives it; of a PNG without Pillow."""
    with opened("image_size", path) as file, _decoding(file):
        size = _png_size(_beginning(file), file.where)
        if size is None:
            with _opened(_pillow("image_size"), file) as image:
                size = _size(image, file.where)
    return size


def check_image(path: Path) -> None:
    """A `DataError` unless the file begins as an image of a format that is read."""
    with opened("read_image", path) as file:
        _beginning(file)


def _beginning(file: File) -> bytes:
    start = file.stream.read(24)
    if len(start) < 24 or not start.startswith(_BEGINNINGS) or (start[:4] == b"RIFF" and start[8:12] != b"WEBP"):
        got = f"a file that begins with {start[:8].hex(' ') or 'nothing, as it is empty'}"
        raise DataError(
            explain(file.where, "must be a PNG, JPEG, GIF, BMP or WebP image", got, "save it as PNG or JPEG")
        )
    return start


def _png_size(start: bytes, where: str) -> tuple[int, int] | None:
    """Height and width of a PNG that begins like this; None for the other formats."""
    if not start.startswith(_BEGINNINGS[0]):
        return None
    if start[12:16] != b"IHDR":
        raise DataError(explain(where, "must be a whole image", "a PNG without its header", "save it anew"))
    width, height = struct.unpack(">2I", start[16:24])
    return _checked_size(height, width, _MOST_PIXELS, where)


def _size(image: Any, where: str) -> tuple[int, int]:
    """Height and width of an image that Pillow has opened, upright."""
    width, height = image.size if image.getexif().get(_ORIENTATION) not in _TURNED else image.size[::-1]
    return _checked_size(height, width, _pillow("read_image").MAX_IMAGE_PIXELS or _MOST_PIXELS, where)


def _checked_size(height: int, width: int, most: int, where: str) -> tuple[int, int]:
    if not 0 < width * height <= most or max(width, height) > _LONGEST_SIDE:
        rule = f"an image has 1 to {most} pixels, and at most {_LONGEST_SIDE} in a row or column"
        raise DataError(explain(where, rule, f"{height} x {width}", "make it smaller"))
    return height, width


def _opened(pillow: Any, file: File, *, as_bytes: bool = False) -> Any:
    """The image, of which Pillow has read the header; ``as_bytes`` takes grey and alpha of 16 bits, in a PNG, for four
    channels of 8.
    """
    file.stream.seek(0)
    content = file.exactly(file.stream, file.size)
    if as_bytes:
        content[24:26] = bytes((8, 6))
        content[29:33] = struct.pack(">I", zlib.crc32(content[12:29]))
    return pillow.open(BytesIO(content), formats=_FORMATS)  # not from the file: Pillow believes its lengths


def _pillow(caller: str) -> Any:
    return optional("PIL.Image", caller, "needs Pillow to read images", "pip install 'typednn[images]'")


def _operations() -> Any:
    return optional("PIL.ImageOps", "read_image", "needs Pillow to read images", "pip install 'typednn[images]'")


@contextmanager
def _decoding(file: File) -> Generator[None]:
    """Whatever Pillow raises for damaged images becomes a `DataError` that names the file."""
    try:
        with ExitStack() as quiet:
            if (
                threading.current_thread() is threading.main_thread()
            ):  # filters are the process's: a second thread would leave its own behind
                quiet.enter_context(warnings.catch_warnings())
                warnings.simplefilter("ignore")  # Pillow's warnings about odd files don't concern the caller
            yield
    except (TypednnError, MemoryError):
        raise
    except Exception as error:
        unknown = type(error).__name__ == "UnidentifiedImageError"  # its message is an address in memory
        got = "a header that Pillow cannot read" if unknown else str(error) or type(error).__name__
        raise DataError(explain(file.where, "must be a whole image", got[:200], "save it anew")) from None


def read_image(
    path: str | Path,
    *,
    size: int | Sequence[int] | None = None,
    resize: Resize = False,
    channels: int = 1,
    invert: bool = False,
    limit: int | None = None,
) -> Array4:
    """One image, (1, height, width, channels).

    ``size`` is the required size: one number or (height, width). An image of another size is resized to it with
    ``resize=True``, and stretched if its proportions differ; with ``resize="crop"`` its middle is, so that the
    proportions stay, in whole numbers as `open_image_folder` has them. `image_size` gives the size in the file.
    ``invert`` turns dark ink on white into MNIST's white ink on black. ``limit`` is how many bytes of memory the pixels
    may take; see `typednn.files`.
    """
    return _image(opened("read_image", path, limit), size, resize, channels, invert)


def decode_image(
    content: bytes,
    *,
    size: int | Sequence[int] | None = None,
    resize: Resize = False,
    channels: int = 1,
    invert: bool = False,
    limit: int | None = None,
) -> Array4:
    """As `read_image`, of the bytes of a file."""
    return _image(held("decode_image", content, limit), size, resize, channels, invert)


def _image(
    source: AbstractContextManager[File], size: int | Sequence[int] | None, resize: Resize, channels: int, invert: bool
) -> Array4:
    """The image in a file, which is opened once the arguments are known to be right."""
    expected = None if size is None else pair("read_image", "size", size)
    if type(channels) is not int or channels not in (1, 3):
        raise ArgumentError(explain("read_image", "channels must be 1, grey, or 3", repr(channels)), "channels")
    if resize not in (False, True, "crop"):
        raise ArgumentError(explain("read_image", "resize must be True, False or 'crop'", repr(resize)), "resize")
    with source as file, _decoding(file), ExitStack() as images:
        header = _png_size(_beginning(file), file.where)
        deep: Array3 | None = None
        pixels: Array3 | None
        pillow: Any = None if header is not None else _pillow("read_image")
        image: Any = None if header is not None else images.enter_context(_opened(pillow, file))
        height, width = header or _size(image, file.where)
        rows, columns = expected or (height, width)
        other = (rows, columns) != (height, width)
        if other and not resize:
            cure = "pass resize=True to stretch it, or resize='crop' to cut out its middle"
            raise DataError(explain(file.where, f"the image must be {rows} x {columns}", f"{height} x {width}", cure))
        file.take(16 * (height * width + (rows * columns if other else 0)))  # twice the memory that is in use at once
        if header is not None:
            pillow = _pillow("read_image")
            image = images.enter_context(_opened(pillow, file))
            if image.size != (width, height):  # before they are unpacked
                raise ValueError("two sizes in one file")
            deep = _deep(pillow, file, image)
        if other and resize == "crop":
            # a JPEG is unpacked in half its size, or less, where that is still enough
            image.draft(None, (2 * max(rows, columns),) * 2)
        upright = image if header is not None else _operations().exif_transpose(image)
        pixels = None if deep is None else _in_channels(deep, channels)
        if other and resize == "crop":
            plain = _plain(pillow, upright, channels) if pixels is None else _whole(pillow, pixels)
            pixels = _numbers(_operations().fit(plain, (columns, rows), method=pillow.Resampling.BILINEAR))
        else:
            pixels = _numbers(_plain(pillow, upright, channels)) if pixels is None else pixels
            if other:
                pixels = _resized(pillow, pixels, (rows, columns))
    return (255.0 - pixels if invert else pixels)[np.newaxis]


def read_image_folder(
    folder: str | Path,
    *,
    size: int | Sequence[int] | None = None,
    resize: Resize = False,
    channels: int = 1,
    invert: bool = False,
    limit: int | None = None,
) -> ImageFolder:
    """Every image below ``folder``, which holds a folder per class; classes and files in the order of their names.

    All images have the size of the first, or ``size``; ``resize`` brings others to it, as `read_image` has it. Names
    that begin with a dot are skipped; any other file that is no image is an error that names it. ``limit`` is how many
    bytes they may take together.
    """
    where = str(path_of("read_image_folder", folder))
    classes = class_folders(where, "images")
    paths = tuple(path for inside in classes.values() for path in inside)
    expected = image_size(paths[0]) if size is None else pair("read_image_folder", "size", size)
    shape = (len(paths), *expected, integer("read_image_folder", "channels", channels))
    allow(where, 4 * math.prod(shape), limit_of("read_image_folder", limit))
    images = np.empty(shape, np.float32)
    for row, path in enumerate(paths):
        images[row] = read_image(path, size=expected, resize=resize, channels=channels, invert=invert, limit=limit)[0]
    return ImageFolder(images, np.repeat(np.arange(len(classes)), [*map(len, classes.values())]), tuple(classes), paths)


def _deep(pillow: Any, file: File, image: Any) -> Array3 | None:
    """The pixels of a PNG of 16 bits, from 0 to 255 with a fraction, on black: (height, width, 1 or 3); None of
    another.

    Pillow gives 16 bits of grey alone. Of colours it gives a byte at a time, so they are unpacked twice; grey and alpha
    are the bytes of an image of four channels (ISO/IEC 15948, 7 and 11.2.1: rows and filters are of bytes, whatever the
    channels are).
    """
    file.stream.seek(24)
    depth, kind = file.stream.read(2)
    if depth != 16:
        return None
    file.take(64 * image.height * image.width)
    if kind == 4:
        parts = np.asarray(_opened(pillow, file, as_bytes=True), np.float32)
        deep = 256 * parts[..., ::2] + parts[..., 1::2]
    elif kind == 0:
        deep = np.asarray(image, np.float32)[..., np.newaxis]
    else:
        low = _opened(pillow, file)
        low.tile = [(*low.tile[0][:3], f"{low.mode};16L")]
        deep = 256 * np.asarray(image, np.float32) + np.asarray(low, np.float32)
    clear: Any = image.info.get("transparency")
    if kind in (4, 6):
        deep = deep[..., :-1] * (deep[..., -1:] / np.float32(65535))
    elif clear is not None:  # tRNS: this one grey or colour is transparent
        deep = np.where((deep == np.asarray(clear, np.float32)).all(axis=2, keepdims=True), np.float32(0), deep)
    return np.asarray(deep, np.float32) / np.float32(257)  # 65535 / 257 = 255


def _in_channels(pixels: Array3, channels: int) -> Array3:
    """Colours as grey, by the luma of ITU-R 601, or grey as colours."""
    if pixels.shape[2] == channels:
        return pixels
    if channels == 3:
        return np.repeat(pixels, 3, axis=2)
    return (pixels @ np.array([0.299, 0.587, 0.114], np.float32))[..., np.newaxis]


def _whole(pillow: Any, pixels: Array3) -> Any:
    """An image of 8 bits, for Pillow to cut."""
    rounded = np.rint(pixels).astype(np.uint8)
    return pillow.fromarray(rounded[..., 0] if rounded.shape[2] == 1 else rounded)


def _plain(pillow: Any, image: Any, channels: int) -> Any:
    """The image in grey or colours of 8 bits, on black."""
    if "A" in image.getbands() or "transparency" in image.info:
        image = image.convert("RGBA")
        image = pillow.alpha_composite(pillow.new("RGBA", image.size, (0, 0, 0, 255)), image)
    return image.convert("L" if channels == 1 else "RGB")


def _numbers(image: Any) -> Array3:
    return np.asarray(image, np.float32).reshape(image.height, image.width, -1)


def _resized(pillow: Any, pixels: Array3, size: tuple[int, int]) -> Array3:
    """Bilinear; where the image becomes smaller, the average over the area of each new pixel."""
    planes = [pillow.fromarray(np.ascontiguousarray(pixels[..., channel])) for channel in range(pixels.shape[2])]
    return np.stack(
        [np.asarray(plane.resize(size[::-1], pillow.Resampling.BILINEAR), np.float32) for plane in planes], axis=2
    )
