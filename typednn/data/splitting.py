"""split and folds: rows that are kept apart, drawn by a seed.

    train, test = split(labels, 0.2, seed=0)     # of each class a fifth is in ``test``
    for train, held_out in folds(labels, 5): …   # each row is held out once

The same labels, fraction and seed give the same rows on every machine (`PCG32`).
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer, number
from typednn.arrays import IntArray1, described, is_array, is_integer
from typednn.errors import ArgumentError, explain
from typednn.random import PCG32


def split(
    labels: IntArray1 | int, fraction: float = 0.2, *, seed: int = 0
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The rows that stay, and ``fraction`` of all rows that are kept apart; each in increasing order, neither empty.

    With ``labels`` (n) of classes the split is stratified: of each class its ``fraction`` is kept apart, rounded, and
    of a class of two rows or more at least one row is on either side; the only row of a class stays. With a number n
    there are no classes.
    """
    share = number("split", "fraction", fraction, least=0.0, below=1.0)
    known = _known("split", labels)
    order = PCG32(seed, 1).permutation(len(known))
    apart: list[npt.NDArray[np.int64]] = []
    for label in np.unique(known):
        rows = order[known[order] == label]
        count = round(share * len(rows))
        apart.append(rows[: min(max(count, 1), len(rows) - 1)])
    rest = np.sort(np.concatenate(apart)) if apart else np.empty(0, np.int64)
    if not len(rest):
        raise ArgumentError(
            explain("split", "needs a class of at least two rows", f"{len(known)} rows", "add samples"), "labels"
        )
    return np.setdiff1d(np.arange(len(known)), rest), rest


def folds(
    labels: IntArray1 | int, count: int = 5, *, seed: int = 0
) -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
    """``count`` pairs of rows, those that stay and those that are held out, each in increasing order; every row is held
    out once.

    With ``labels`` (n) of classes, each part has as many rows of a class as any other, up to one; so has all of them
    together. With a number n there are no classes. A class of fewer rows than parts is an `ArgumentError`.
    """
    integer("folds", "count", count, 2)
    known = _known("folds", labels)
    label, least = min(zip(*np.unique(known, return_counts=True), strict=True), key=lambda pair: int(pair[1]))
    if least < count:
        of = f"{least} of class {label}" if is_array(labels) else f"{least}"
        rule = f"{count} parts need {count} samples{' of each class' if is_array(labels) else ''} to share out"
        raise ArgumentError(
            explain("folds", rule, of, f"ask for {least} at most" if least > 1 else "add samples"), "count"
        )
    order = PCG32(seed, 1).permutation(len(known))
    order = order[np.argsort(known[order], kind="stable")]  # class after class, dealt out like cards
    held = [np.sort(order[part::count]) for part in range(count)]
    return [(np.setdiff1d(np.arange(len(known)), rows), rows) for rows in held]


def _known(where: str, labels: IntArray1 | int) -> npt.NDArray[np.int64]:
    """Labels as they are; of their number, as many of one class."""
    unchecked: Any = labels
    if not is_array(unchecked):
        return np.zeros(integer(where, "labels", unchecked), np.int64)
    if unchecked.ndim != 1 or not is_integer(unchecked.dtype):
        rule = "labels are integers (n), or their number n"
        raise ArgumentError(explain(where, rule, described(unchecked)), "labels")
    return np.asarray(unchecked, np.int64)
