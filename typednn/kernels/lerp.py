"""lerp: a running mean moves from what it was towards a new value, by a share of the way.

start + share·(end - start)          where share < 1/2
end - (1 - share)·(end - start)      else

So it is exactly ``start`` at share 0 and exactly ``end`` at share 1, where the first formula alone loses the end's digits to a large start.
Source: torch.lerp.
"""

from collections.abc import Callable
from typing import Any


def lerp(start: Any, end: Any, share: Any, select: Callable[[Any, Any, Any], Any] | None = None) -> Any:
    """The value; ``share`` is a number, or an expression of a kernel, whose ``select`` then chooses."""
    if select is None:
        return start + share * (end - start) if share < 0.5 else end - (1 - share) * (end - start)
    near = share < 0.5
    return select(near, start, end) + select(near, share, share - 1) * (end - start)
