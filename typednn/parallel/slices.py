"""Slices: of each array every rank has one, of equal size but for the last ones, in the order of the ranks.

Arrays of one type travel together, as many as there is room for. A rank with no numbers of a small array sends as many
bytes as the others.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from typednn.parallel.ranks import Ranks

TOGETHER: Final = 1 << 22  # bytes of arrays that travel in one message: larger ones gain nothing, and need room


def share(numbers: int, size: int) -> int:
    """How many of so many numbers a rank has at most."""
    return -(-numbers // size)


def part(array: npt.NDArray[Any], rank: int, size: int) -> npt.NDArray[Any]:
    """The slice of ``array`` that is the rank's, flat; a view where the array is C-contiguous."""
    each = share(array.size, size)
    return array.reshape(-1)[rank * each : (rank + 1) * each]


def summed(ranks: Ranks, arrays: Sequence[npt.NDArray[Any]], present: Sequence[bool]) -> list[npt.NDArray[Any]]:
    """The sums over those ranks that are ``present``, of which this rank gets its slices; the rest is zeros.

    Half the bytes of an all-reduce.
    """
    made = [np.zeros_like(each, order="C") for each in arrays]

    def exchange(places: Sequence[int], rows: npt.NDArray[Any]) -> None:
        for place, start in _starts(arrays, places, ranks.size):
            for rank, row in enumerate(rows):
                own = part(arrays[place], rank, ranks.size)
                row[start : start + len(own)] = own
        found = ranks.summed_rows(rows, present)
        for place, start in _starts(arrays, places, ranks.size):
            own = part(made[place], ranks.rank, ranks.size)
            own[...] = found[start : start + len(own)]

    _by_type(arrays, ranks.size, exchange)
    return made


def complete(ranks: Ranks, arrays: Sequence[npt.NDArray[Any]], own: Sequence[npt.NDArray[Any]]) -> None:
    """Write to ``arrays``, C-contiguous or not, the slices of all ranks; ``own`` are this rank's. Half the bytes of an
    all-reduce.
    """

    def exchange(places: Sequence[int], rows: npt.NDArray[Any]) -> None:
        mine = np.zeros_like(rows[0])
        for place, start in _starts(arrays, places, ranks.size):
            mine[start : start + len(own[place])] = own[place]
        ranks.every_row(mine, rows)
        for place, start in _starts(arrays, places, ranks.size):
            array, each = arrays[place], share(arrays[place].size, ranks.size)
            array[...] = rows[:, start : start + each].reshape(-1)[: array.size].reshape(array.shape)

    _by_type(arrays, ranks.size, exchange)


def _by_type(
    arrays: Sequence[npt.NDArray[Any]], size: int, exchange: Callable[[Sequence[int], npt.NDArray[Any]], None]
) -> None:
    """``exchange`` the arrays of each type, in rows of zeros, one for each rank; as many at once as `TOGETHER` has
    room for, or one.
    """
    for dtype in sorted({each.dtype for each in arrays}, key=str):
        places: list[int] = []
        room = TOGETHER
        for place, each in enumerate(arrays):
            if each.dtype != dtype:
                continue
            if places and each.nbytes > room:
                exchange(places, _rows(arrays, places, size))
                places, room = [], TOGETHER
            places.append(place)
            room -= each.nbytes
        exchange(places, _rows(arrays, places, size))


def _rows(arrays: Sequence[npt.NDArray[Any]], places: Sequence[int], size: int) -> npt.NDArray[Any]:
    """Zeros: a row for each rank, of its slices of the arrays at these places."""
    return np.zeros((size, sum(share(arrays[place].size, size) for place in places)), arrays[places[0]].dtype)


def _starts(arrays: Sequence[npt.NDArray[Any]], places: Sequence[int], size: int) -> list[tuple[int, int]]:
    """Each place, and where its slice begins in a row."""
    sizes = [share(arrays[place].size, size) for place in places]
    return list(zip(places, np.cumsum([0, *sizes]).tolist(), strict=False))


def scattered(ranks: Ranks, array: npt.NDArray[Any] | None, numbers: int, dtype: Any) -> npt.NDArray[Any]:
    """This rank's slice of the first rank's ``array`` of so many numbers; the others give None."""
    each = share(numbers, ranks.size)
    rows: npt.NDArray[Any] | None = None
    if array is not None:
        rows = np.zeros((ranks.size, each), dtype)
        rows.reshape(-1)[:numbers] = array.reshape(-1)
    row = ranks.row_from_first(rows, np.empty(each, dtype))
    return row[: max(0, min(each, numbers - ranks.rank * each))].copy()


def gathered(ranks: Ranks, own: npt.NDArray[Any], numbers: int) -> npt.NDArray[Any] | None:
    """The array of so many numbers whose slices the ranks have, flat, on the first rank; None on the others."""
    row = np.zeros(share(numbers, ranks.size), own.dtype)
    row[: len(own)] = own
    rows = ranks.rows_to_first(row)
    return None if rows is None else rows.reshape(-1)[:numbers]
