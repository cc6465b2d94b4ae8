"""read_inputs: images for a prediction, from a file of any supported kind."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer
from typednn.arrays import Array4
from typednn.data.csv import read_csv
from typednn.data.idx import read_idx
from typednn.data.images import ENDINGS, Resize, read_image
from typednn.data.npy import read_npy, read_npz
from typednn.errors import DataError, explain
from typednn.files import path_of


def read_inputs(
    path: str | Path,
    height: int = 28,
    width: int = 28,
    channels: int = 1,
    *,
    resize: Resize = False,
    invert: bool = False,
    header: int = 0,
    limit: int | None = None,
) -> Array4:
    """Images (n, height, width, channels) in float32, unchanged; only images in files of their own are resized or
    inverted.

    ======================  =========================================================================================
    file                    what it holds
    ======================  =========================================================================================
    ``.png``, ``.jpg``, …   one image: PNG, JPEG, GIF, BMP or WebP
    ``.npy``                (height, width), (n, height, width), (n, height, width, channels) or (n, their product)
    ``.npz``                one array of that kind
    ``.csv``                a row of pixels per image; in rows that have one number more the first is a label, left out
    anything else           IDX, with or without gzip: (n, height, width) or (n, height, width, channels)
    ======================  =========================================================================================

    ``limit`` is how many bytes of memory the file's numbers may take; see `typednn.files`.
    """
    path = path_of("read_inputs", path)
    sizes = [
        integer("read_inputs", name, value)
        for name, value in (("height", height), ("width", width), ("channels", channels))
    ]
    kind = path.suffix.lower()
    if kind in ENDINGS:
        return read_image(path, size=(sizes[0], sizes[1]), resize=resize, channels=channels, invert=invert, limit=limit)
    if kind == ".csv":
        rows = read_csv(path, header=header, limit=limit)
        return shaped(str(path), rows[:, 1:] if rows.shape[1] == height * width * channels + 1 else rows, *sizes)
    if kind == ".npz":
        arrays = read_npz(path, limit=limit)
        if len(arrays) != 1:
            raise DataError(explain(str(path), "must hold one array, the images", f"{len(arrays)}", "save them alone"))
        return shaped(str(path), next(iter(arrays.values())), *sizes)
    return shaped(str(path), read_npy(path, limit=limit) if kind == ".npy" else read_idx(path, limit=limit), *sizes)


def shaped(where: str, numbers: npt.NDArray[Any], height: int, width: int, channels: int) -> Array4:
    """Numbers as images (n, height, width, channels) in float32: of one or of several, also as rows, and of grey ones
    without channels.
    """
    shapes = [(height, width, channels), (height * width * channels,), *([(height, width)] if channels == 1 else [])]
    if not numbers.size or not any(shape in (numbers.shape, numbers.shape[1:]) for shape in shapes):
        rule = f"must hold images of {height} x {width} x {channels}, or rows of {height * width * channels} numbers"
        raise DataError(explain(where, rule, f"shape {numbers.shape}"))
    return numbers.astype(np.float32).reshape(-1, height, width, channels)
