"""Cache: the keys and values of a sequence's positions so far, for attention that reads the sequence piece by piece.

y_t = attention of q_t over the positions 0 to t       t = past, …, past + time - 1

q, k, v, y (batch, time, heads, features)   a cache holds past positions and gives one that holds past + time. A cache
                                            is a value: it never
changes. Caches of one text share memory, which has room for as many positions again: each number is copied twice at
most, on average, and not once for each token. Where a cache is used a second time, its numbers are copied first.
4·time·(past + time)·features flops for each head, half of the time² part without a past.
"""

from typing import Any, final

from jaxtyping import Bool, Float

from typednn.arrays import AnyBoolArray, Array4, namespace
from typednn.errors import ShapeError, explain
from typednn.kernels import attention


@final
class _Memory:
    """Of one or more caches: the first ``used`` positions hold numbers of some cache."""

    __slots__ = ("keys", "used", "values")

    def __init__(self, keys: Any, values: Any, used: int) -> None:
        self.keys: Any = keys
        self.values: Any = values
        self.used: int = used


@final
class Cache:
    """Of ``length`` positions, the ``keys`` and ``values``."""

    __slots__ = ("_memory", "length")

    def __init__(
        self, keys: Float[Array4, "batch length heads features"], values: Float[Array4, "batch length heads features"]
    ) -> None:
        self.length: int = keys.shape[1]
        self._memory = _Memory(keys, values, self.length)

    @property
    def keys(self) -> Float[Array4, "batch {self.length} heads features"]:
        keys: Array4 = self._memory.keys[:, : self.length]
        return keys

    @property
    def values(self) -> Float[Array4, "batch {self.length} heads features"]:
        values: Array4 = self._memory.values[:, : self.length]
        return values

    def extended(
        self, keys: Float[Array4, "batch more heads features"], values: Float[Array4, "batch more heads features"]
    ) -> "Cache":
        """The cache with more positions; `ShapeError` unless they are of the same batch, heads, features and dtype."""
        memory, end = self._memory, self.length + keys.shape[1]
        own, other = ((x.shape[0], *x.shape[2:], str(x.dtype)) for x in (memory.keys, keys))
        if own != other:
            raise ShapeError(
                explain("a cache", f"is of batch, heads, features and dtype {own}", str(other), "begin without a state")
            )
        # another cache went on from here, or there is no room
        if memory.used != self.length or end > memory.keys.shape[1]:
            memory = _Memory(_with_room(self.keys, 2 * end), _with_room(self.values, 2 * end), self.length)
        memory.keys[:, self.length : end] = keys
        memory.values[:, self.length : end] = values
        memory.used = end
        longer = Cache.__new__(Cache)
        longer.length, longer._memory = end, memory
        return longer


def read(
    q: Float[Array4, "batch time heads features"],
    k: Float[Array4, "batch time heads features"],
    v: Float[Array4, "batch time heads features"],
    before: Cache | None,
) -> tuple[Float[Array4, "batch time heads features"], Cache]:
    """y of the positions behind those of ``before``, and the cache with them."""
    if before is None:
        return attention.forward(q, k, v, None, True)[0], Cache(k, v)
    after, time = before.extended(k, v), q.shape[1]
    mask = None if time == 1 else _earlier(q, before.length)
    return attention.forward(q, after.keys, after.values, mask, False)[0], after


def _earlier(q: Float[Array4, "batch time heads features"], past: int) -> Bool[AnyBoolArray, "batch time {past}+time"]:
    """True where a position comes no later than a query."""
    xp, (batch, time) = namespace(q), q.shape[:2]
    earlier = xp.arange(past + time) <= xp.arange(past, past + time)[:, None]
    mask: AnyBoolArray = xp.ascontiguousarray(xp.broadcast_to(earlier, (batch, *earlier.shape)))
    return mask


def _with_room(
    x: Float[Array4, "batch length heads features"], positions: int
) -> Float[Array4, "batch {positions} heads features"]:
    """``x`` at the beginning of memory for more positions."""
    wide: Array4 = namespace(x).empty((x.shape[0], positions, *x.shape[2:]), dtype=x.dtype)
    wide[:, : x.shape[1]] = x
    return wide
