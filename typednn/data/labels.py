"""Class labels: checked, and written as rows of targets; names of classes and columns."""

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer, number
from typednn.arrays import Array2, IntArray1, is_array, is_integer
from typednn.backends import to_numpy
from typednn.errors import ArgumentError, DataError, explain


def checked_labels(where: str, name: str, labels: Any, classes: int) -> npt.NDArray[np.int64]:
    """``labels`` as NumPy int64: one axis of integers in ``0 … classes-1``, or an `ArgumentError` that
    names the row.
    """
    if not is_array(labels):
        raise ArgumentError(
            explain(
                where,
                f"{name} must be an array of integers",
                type(labels).__name__,
                "convert it with numpy.asarray(...)",
            ),
            name,
        )
    host = to_numpy(labels)
    if not is_integer(host.dtype):
        cure = "for scores use argmax(axis=1)" if host.ndim == 2 else "convert it with astype(numpy.int64)"
        raise ArgumentError(explain(where, f"{name} must be an array of integers", str(host.dtype), cure), name)
    if host.ndim != 1:
        raise ArgumentError(explain(where, f"{name} must have one axis, a class per row", f"shape {host.shape}"), name)
    outside = (host < 0) | (host >= classes)
    if outside.any():
        row = int(outside.argmax())
        raise ArgumentError(
            explain(
                where,
                f"{name} must be 0 to {classes - 1}, as there are {classes} classes",
                f"{int(host[row])} in row {row}",
            ),
            name,
        )
    return np.asarray(host, np.int64)


def whole_numbers(
    where: str, rule: str, column: npt.NDArray[Any], cure: str, place: Callable[[int], str] = "row {}".format
) -> npt.NDArray[np.int64]:
    """A ``column`` of floats that holds labels; a `DataError` names the ``place`` of the first that is no whole number
    from 0.
    """
    wrong = (column != np.floor(column)) | (column < 0) | ~(column < 2.0**31)
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(explain(where, rule, f"{column[row]:.10g} in {place(row)}", cure))
    return column.astype(np.int64)


def normalised(name: str) -> str:
    """A name of a class or a column as names are compared: in Unicode's form NFC, without spaces around it."""
    return unicodedata.normalize("NFC", name.strip())


def names_of(names: tuple[str, ...], outputs: int) -> tuple[str, ...]:
    """A name for each of a model's ``outputs``: the classes' and, where it has more, their numbers."""
    more = (str(number) if str(number) not in names else f"output {number}" for number in range(len(names), outputs))
    return (*names, *more)[:outputs]


def one_hot(labels: IntArray1, classes: int, on: float = 1.0, off: float = 0.0) -> Array2:
    """A float32 row per label: ``on`` in its own class, ``off`` in the others.

    ``one_hot(labels, 10, 0.91, 0.01)`` are the smoothed targets of the paper's experiment.
    """
    classes = integer("one_hot", "classes", classes)
    rows = checked_labels("one_hot", "labels", labels, classes)
    on, off = number("one_hot", "on", on), number("one_hot", "off", off)
    targets = np.full((len(rows), classes), off, np.float32)
    targets[np.arange(len(rows)), rows] = on
    return targets
