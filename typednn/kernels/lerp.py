"""lerp: a running mean moves from what it was towards a new value, by a share of the way.

start + share·(end - start)          where share < 1/2
end - (1 - share)·(end - start)      else

So it is exactly ``start`` at share 0 and exactly ``end`` at share 1, where the first formula alone loses the end's
digits to a large start.
Source: torch.lerp.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from jaxtyping import Float

from typednn.arrays import AnyArray

X = TypeVar("X", bound=AnyArray)


def lerp(start: Float[X, "*shape"], end: Float[AnyArray, "*shape"], share: float) -> Float[X, "*shape"]:
    """The value, of arrays or of what computes as they do."""
    way: Any = end - start
    value: X = start + share * way if share < 0.5 else end - (1 - share) * way
    return value


def lerp_of_expressions(select: Callable[[Any, Any, Any], Any], start: Any, end: Any, share: Any) -> Any:
    """`lerp` in a kernel, whose ``share`` is known when it runs."""
    near = share < 0.5
    return select(near, start, end) + select(near, share, share - 1) * (end - start)
