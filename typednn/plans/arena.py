"""One piece of memory for arrays that are not all needed at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from typednn.engines.memory.pool import ALIGNMENT


@dataclass(slots=True)
class Lasting:
    """What needs ``size`` bytes from the call ``first`` to the call ``last``."""

    size: int
    first: int
    last: int


def arena_of(written: Sequence[Lasting]) -> tuple[list[int], int]:
    """The offset of each in one piece of memory, and its bytes: the largest first, each at the lowest place that is
    free from its first use to its last.
    """
    offsets = [0] * len(written)
    placed: list[int] = []
    for place in sorted(range(len(written)), key=lambda place: -written[place].size):
        mine = written[place]
        taken = sorted(
            (offsets[other], offsets[other] + written[other].size)
            for other in placed
            if written[other].first <= mine.last and mine.first <= written[other].last
        )
        start = 0
        for low, high in taken:
            if start + mine.size <= low:
                break
            start = max(start, high + -high % ALIGNMENT)
        offsets[place] = start
        placed.append(place)
    size = max((offset + each.size for offset, each in zip(offsets, written, strict=True)), default=0)
    return offsets, size + -size % ALIGNMENT
