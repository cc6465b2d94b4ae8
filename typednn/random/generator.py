"""What a generator of random numbers can do, and the checks that they share."""

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer, number
from typednn.errors import ArgumentError, explain

Floats: TypeAlias = npt.NDArray[np.float64]


class Draws(Protocol):
    """What draws U[0, 1): any `Rng`, or `XorShift64`. Each call advances it; ``size`` is a shape."""

    def random(self, size: tuple[int, ...], /) -> Floats: ...


@runtime_checkable
class Rng(Draws, Protocol):
    """A generator: `numpy.random.Generator` or `PCG32`. Each call advances it; ``size`` is a shape.

    ``random`` U[0, 1)   ``uniform`` U[low, high)   ``standard_normal`` N(0, 1)   ``normal`` N(loc, scale²)
    ``permutation`` one of the orders of 0, 1, … n-1
    """

    def uniform(self, low: float, high: float, size: tuple[int, ...], /) -> Floats: ...
    def standard_normal(self, size: tuple[int, ...], /) -> Floats: ...
    def normal(self, loc: float, scale: float, size: tuple[int, ...], /) -> Floats: ...
    def permutation(self, n: int, /) -> npt.NDArray[np.int64]: ...


def shape_of(where: str, size: tuple[int, ...]) -> tuple[int, ...]:
    """``size``, a tuple of integers."""
    if not isinstance(size, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
        raise ArgumentError(
            explain(where, "size is a tuple of integers", repr(size), "write (3,) for three numbers"), "size"
        )
    return tuple(integer(where, "each of size", axis, 0, below=1 << 63, argument="size") for axis in size)


def check_interval(where: str, low: float, high: float) -> None:
    """Raise unless ``low`` and ``high`` are numbers in this order."""
    number(where, "low", low)
    number(where, "high", high)
    if low > high:
        raise ArgumentError(explain(where, "low is at most high", f"low={low!r}, high={high!r}", "swap them"))
