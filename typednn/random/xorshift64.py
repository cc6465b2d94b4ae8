"""XorShift64: the generator that gpt.c draws tokens with."""

import math
from typing import Final, final

import numpy as np

from typednn.arguments import integer
from typednn.random.generator import Floats, shape_of

_MASK64: Final = (1 << 64) - 1


@final
class XorShift64:
    """xorshift64*, with which gpt.c draws tokens; ``seed`` is 1 to 2⁶⁴ - 1, gpt.c's own is 1337.

    x ← x ^ x >> 12,  x ← x ^ x << 25,  x ← x ^ x >> 27  mod 2⁶⁴      x: the seed, then the state
    u32 = (x · 0x2545F4914F6CDD1D mod 2⁶⁴) >> 32       u = (u32 >> 8) / 2²⁴
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int = 1337) -> None:
        self._state = integer("XorShift64", "seed", seed, below=1 << 64)  # 0 would stay 0

    def next_uint32(self) -> int:
        """The next u32."""
        x = self._state
        x ^= x >> 12
        x ^= x << 25 & _MASK64
        x ^= x >> 27
        self._state = x
        return (x * 0x2545F4914F6CDD1D & _MASK64) >> 32

    def random(self, size: tuple[int, ...], /) -> Floats:
        """U[0, 1) in row-major order; float32 holds each number exactly."""
        count = math.prod(shape_of("XorShift64", size))
        return np.array([self.next_uint32() >> 8 for _ in range(count)], np.float64).reshape(size) / 2.0**24

    def __repr__(self) -> str:
        return f"<XorShift64 state={self._state:#018x}>"
