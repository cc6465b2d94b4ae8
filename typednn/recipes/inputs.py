"""Inputs for a trained model: images and rows from files, in the form of the training data.

For a model of images `typednn.data.read_inputs` reads images (resized to the model's size), NPY, NPZ, CSV and IDX. For
one of rows NPY, CSV, TSV, Parquet and Arrow hold an input per row, in named columns where the training data had names;
for one of tokens a ``.txt`` file holds a text. Numbers have the range of the training data: 0 to 255 for images.
"""

import math
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from typednn.arrays import is_number
from typednn.data import Encoding, read_inputs, read_npy, read_text
from typednn.data.dialect import names_in
from typednn.data.images import Resize
from typednn.data.table import ENDINGS, columns_of, inputs_encoded
from typednn.errors import DataError, explain
from typednn.files import path_of
from typednn.recipes.samples import Exact, Floats


def inputs_of(
    path: str | Path,
    shape: tuple[int, ...],
    *,
    tokens: bool = False,
    invert: bool = False,
    resize: Resize = True,
    encoding: Encoding | None = None,
    named: bool = False,
    layout: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[npt.NDArray[Any], str]:
    """Inputs (n, *shape) of a file, and a remark: how a table was read, or that an image looks unlike the training
    data.

    ``resize`` is how images were brought to their size, ``encoding`` how columns of the training table became numbers,
    ``named`` whether that had names, and ``layout`` is how a CSV file is written, where that was said
    (`typednn.recipes.samples.layout_of`). `DataError` where they do not fit.
    """
    path = path_of("inputs_of", path)
    if tokens:
        if path.suffix.lower() != ".txt":
            rule = "a model of texts reads files whose names end in .txt"
            raise DataError(explain(str(path), rule, repr(path.suffix or path.name)))
        return read_text(path, shape[0]), ""
    read, told = (
        (_images(path, shape, invert, resize, layout.get("header")), "")
        if len(shape) == 3
        else _rows(path, shape, encoding, named, layout)
    )
    inputs: Floats | Exact = read if len(shape) == 3 else np.asarray(read, np.float64)
    if not (np.abs(inputs) <= np.finfo(np.float32).max).all():
        raise DataError(explain(str(path), "must hold finite numbers", "NaN or infinity"))
    dark = path.suffix.lower() == ".png" and shape[-1] == 1 and not invert
    return inputs, dark_on_light(inputs) if dark else told


def _images(path: Path, shape: tuple[int, ...], invert: bool, resize: Resize, named: bool | None) -> Any:
    header = int(path.suffix.lower() == ".csv" and (names_in(path) if named is None else named))
    return read_inputs(path, *shape, resize=resize, invert=invert, header=header)


def _rows(
    path: Path, shape: tuple[int, ...], encoding: Encoding | None, named: bool, layout: Mapping[str, Any]
) -> tuple[Any, str]:
    told, kind = "", path.suffix.lower()
    if kind in ENDINGS:
        rows: npt.NDArray[Any]
        written: Mapping[str, Any] = layout if kind in (".csv", ".tsv") else {}
        if encoding is None:
            rows, told = columns_of(path, dtype="float64", **written)
        else:
            rows, told = inputs_encoded(path, encoding, named=named, **written)
    elif kind == ".npy":
        rows = read_npy(path)
    else:
        rule = "a model of rows reads NPY, CSV, TSV, Parquet and Arrow, told by the file's name"
        raise DataError(explain(str(path), rule, repr(path.suffix or path.name)))
    if rows.shape == shape:
        rows = rows.reshape(1, *shape)
    width = math.prod(shape)
    if math.prod(rows.shape[1:]) != width or not len(rows) or not (is_number(rows.dtype) or rows.dtype == bool):
        raise DataError(
            explain(
                str(path),
                f"must hold rows of {width} numbers",
                f"{rows.dtype} of shape {rows.shape}",
                "leave the label out",
            )
        )
    return rows.reshape(len(rows), *shape), told


def dark_on_light(images: npt.NDArray[Any]) -> str:
    """A remark where the edges of the image are bright."""
    edges = np.concatenate([images[0, [0, -1]].ravel(), images[0, :, [0, -1]].ravel()])
    if float(edges.mean()) > 255.0 / 2:
        return "looks dark on light; if the training images are light on dark, as MNIST's are, add --invert"
    return ""
