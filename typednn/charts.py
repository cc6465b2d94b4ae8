"""What a chart shows, whoever draws it: its colours, its points, where its ticks are and how they are written.

`typednn.html` draws for notebooks and needs no package for it; `typednn.reports` draws files and pages with matplotlib.
The colours are those of M. Okabe and K. Ito, "Color Universal Design" (2008), without their yellow, which is invisible
on white.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
GREATEST = 1e30  # beyond it, the margins of an axis overflow
_PLAIN = 1e9  # whole numbers below it are written with all their digits


def opacity(share: Any) -> Any:
    """How opaque a cell of a matrix is for a ``share`` of its row: not in proportion, so that one in a hundred is
    visible.
    """
    return share**0.45


def thinned(x: npt.NDArray[Any], y: npt.NDArray[Any], points: int) -> tuple[npt.NDArray[np.float64], ...]:
    """(x, mean, least, greatest) of at most ``points`` groups of neighbours, of the finite ones alone, brought within
    ±1e30.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    x, y = (np.clip(values[finite], -GREATEST, GREATEST) for values in (x, y))
    if len(x) <= points:
        return x, y, y, y
    starts = np.linspace(0, len(x), points, endpoint=False).astype(np.int64)
    sizes = np.diff(np.append(starts, len(x)))
    means = [np.add.reduceat(values / np.repeat(sizes, sizes), starts) for values in (x, y)]
    return means[0], means[1], np.minimum.reduceat(y, starts), np.maximum.reduceat(y, starts)


def spans_decades(values: npt.NDArray[Any]) -> bool:
    """Whether a logarithmic axis shows ``values`` better than a linear one."""
    return len(values) > 1 and bool(values.min() > 0) and bool(values.max() > 50 * values.min())


def round_step(least: float) -> float:
    """The smallest 1, 2 or 5 times a power of ten that is not below ``least``."""
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def ticks(low: float, high: float, most: int, *, logarithmic: bool = False, whole: bool = False) -> list[float]:
    """Round numbers from ``low`` to ``high``, about ``most`` of them; ``whole`` ones if that is asked for.

    On a logarithmic axis these are powers of ten, and twice and five times these where there is room.
    """
    if logarithmic:
        powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for every in range(len(powers)):
            factors = (1, 2, 5) if every == 0 else (1,)
            places = [factor * 10.0**power for power in powers[:: max(every, 1)] for factor in factors]
            places = [place for place in places if low <= place <= high]
            if 1 < len(places) <= most:
                return places
    if high <= low:
        return [low]
    step = round_step(max((high - low) / most, float(whole)))
    places = [step * place for place in range(math.ceil(low / step), math.floor(high / step) + 1)]
    return list(dict.fromkeys(places))


def labels(places: Sequence[float]) -> list[str]:
    """Numbers as an axis shows them: thousands set apart, and so many digits that no two are alike."""
    for digits in range(6, 18):
        texts = [
            f"{place:,.0f}" if place == round(place) and abs(place) < _PLAIN else f"{place:.{digits}g}"
            for place in places
        ]
        if len(set(texts)) == len(texts):
            return texts
    return [str(place) for place in places]
