"""What a chart shows, whoever draws it: its colours, its points, where its ticks are and how they are written.

`typednn.curves` draws for pages and notebooks, and needs no package for it; `typednn.reports` draws files with
matplotlib.
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


def smoothed(y: npt.NDArray[np.float64], share: float = 0.05) -> npt.NDArray[np.float64]:
    """The mean of each value and its neighbours, a ``share`` of all values on either side, at least 10; at the ends
    there are fewer.

    At the start as few after a value as before it: the curve begins with the first value. At the end the values before
    stay, and the curve ends with the mean of the last ``share``. So both ends of the window only move on, and values
    that never rise give a curve that never rises. With equally many on both sides the curve would end with the last
    value, whose noise looks like a turn. In exchange the end of a falling curve is a little too high: it lags by half a
    ``share``.
    """
    at, reach = np.arange(len(y)), max(10, int(len(y) * share))
    before = np.minimum(reach, at)
    after = np.minimum(before, at[::-1])
    return np.array([np.mean(y[i - b : i + a + 1]) for i, b, a in zip(at, before, after, strict=True)], np.float64)


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


def epoch_ends(steps: npt.NDArray[Any], epochs: npt.NDArray[Any], most: int) -> dict[float, str]:
    """The steps at which epochs end, with the epochs' numbers in words: at most ``most``, at round numbers.

    The last epoch has a number if it has as many steps as the one before: then it is over.
    """
    at = np.flatnonzero(np.diff(epochs) > 0)
    if len(at) and steps[-1] - steps[at[-1]] >= steps[at[-1]] - (steps[at[-2]] if len(at) > 1 else 0):
        at = np.append(at, len(steps) - 1)
    ends = {
        number: step for number, step in zip(epochs[at].tolist(), steps[at].tolist(), strict=True) if 0 < number < 2**53
    }
    every = round_step(max(max(ends, default=0.0) / most, 1.0))
    return {step: f"{number:,.0f}" for number, step in ends.items() if number % every == 0}


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
