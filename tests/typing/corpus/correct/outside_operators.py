"""Operators of another library's arrays: ``+`` concatenates, ``@`` composes, ``*`` is the outer product."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Float


@dataclass(frozen=True)
class Signal:
    """Its sizes alone."""

    shape: tuple[int, ...]
    dtype: str = "float32"

    def __add__(self, other: Signal) -> Signal:
        return Signal((self.shape[0] + other.shape[0], *self.shape[1:]))

    def __mul__(self, other: Signal) -> Signal:
        return Signal(self.shape + other.shape)

    def __matmul__(self, other: Signal) -> Signal:
        return Signal((other.shape[0], self.shape[-1]))

    def __rshift__(self, other: Signal) -> Signal:
        return Signal((*self.shape[:-1], other.shape[-1]))


def played(x: Float[Signal, "time channels"]) -> Float[Signal, "time channels"]:
    return x


def appended(x: Float[Signal, "time channels"], y: Float[Signal, "more channels"]) -> Float[Signal, "time+more channels"]:
    return played(x) + played(y)


def outer(x: Float[Signal, " rows"], y: Float[Signal, " columns"]) -> Float[Signal, "rows columns"]:
    return played(x * y)


def composed(x: Float[Signal, "7 3"], y: Float[Signal, "5 7"]) -> Float[Signal, "5 3"]:
    return played(x @ y)


def piped(x: Float[Signal, "2 3"], y: Float[Signal, "4 5"]) -> Float[Signal, "2 5"]:
    return played(played(x) >> played(y))


if __name__ == "__main__":
    print(appended(Signal((2, 3)), Signal((4, 3))).shape, outer(Signal((2,)), Signal((3,))).shape)
    print(composed(Signal((7, 3)), Signal((5, 7))).shape, piped(Signal((2, 3)), Signal((4, 5))).shape)
