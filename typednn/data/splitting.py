"""split: rows that are kept apart, drawn by a seed.

    train, test = split(labels, 0.2, seed=0)     # of each class a fifth is in ``test``

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
    unchecked: Any = labels
    if is_array(unchecked):
        if unchecked.ndim != 1 or not is_integer(unchecked.dtype):
            rule = "labels are integers (n), or their number n"
            raise ArgumentError(explain("split", rule, described(unchecked)), "labels")
        known = np.asarray(unchecked, np.int64)
    else:
        known = np.zeros(integer("split", "labels", unchecked), np.int64)
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
