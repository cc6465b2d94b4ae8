"""PCG32: the paper's generator of random numbers."""

import math
from collections.abc import Mapping, Sequence
from typing import Final, TypeVar, final

import numpy as np
import numpy.typing as npt

from typednn.arguments import integer, number
from typednn.errors import ArgumentError, explain
from typednn.random.generator import Floats, check_interval, shape_of

_Element = TypeVar("_Element")

_MULTIPLIER: Final = 6364136223846793005
_MASK64: Final = (1 << 64) - 1
_MASK32: Final = (1 << 32) - 1
_CHUNK: Final = 1 << 14  # states per vectorised pass: its temporaries stay in the cache for any size drawn

# k steps at once: state_k = aᵏ·state_0 + (1 + a + … + aᵏ⁻¹)·c mod 2⁶⁴, for k = 0 … _CHUNK
_POWERS: Final = np.cumprod(np.r_[np.uint64(1), np.full(_CHUNK, _MULTIPLIER, np.uint64)], dtype=np.uint64)
_SUMS: Final = np.cumsum(np.r_[np.uint64(0), _POWERS[:-1]], dtype=np.uint64)


@final
class PCG32:
    """PCG-XSH-RR 64/32, ``PCG32(seed, stream)``: equal arguments give equal u32 on every machine.

    state' = a·state + c mod 2⁶⁴       a = 6364136223846793005, c = 2·stream + 1                    (eq 48)
    u32 = rotr32(((s >> 18) ^ s) >> 27 mod 2³², s >> 59)       s: the state before the step         (eq 49)
    u = min(u32 / 2³², 1 - 2⁻²⁴)                                                                    (eq 50)
    U(low, high) = low + (high - low)·u                                                             (eq 51)
    z = √(-2 ln max(u₁, 2⁻¹²⁶)) · cos(2π u₂)                                                        (eq 52)
    N(loc, scale²) = loc + scale·z                                                                  (eq 53)

    Eq 49 as printed lacks ``mod 2³²``. Eq 50 as printed is not half-open: in float32, u32 ≥ 2³² - 128 gives 1.
    A uniform costs one u32, a normal two (u₁ then u₂; the sine branch is dropped), and n numbers in one call
    are the same as in n calls. A permutation is the paper's shuffle and costs n.
    """

    __slots__ = ("_increment", "_state")

    def __init__(self, seed: int, stream: int = 0) -> None:
        seed = integer("PCG32", "seed", seed, 0, below=1 << 64)
        self._increment = integer("PCG32", "stream", stream, 0, below=1 << 63) << 1 | 1
        self._state = 0
        self.next_uint32()
        self._state = (self._state + seed) & _MASK64
        self.next_uint32()

    def next_uint32(self) -> int:
        """One step in plain Python: the definition that `integers32` must equal (eqs 48 and 49)."""
        old = self._state
        self._state = (_MULTIPLIER * old + self._increment) & _MASK64
        xorshifted = (((old >> 18) ^ old) >> 27) & _MASK32
        rotation = old >> 59
        return (xorshifted >> rotation | xorshifted << (32 - rotation)) & _MASK32

    def integers32(self, size: tuple[int, ...], /) -> npt.NDArray[np.uint32]:
        """Uniform u32 numbers in row-major order: `next_uint32`, `_CHUNK` at a time."""
        numbers = np.empty(math.prod(shape_of("PCG32", size)), np.uint32)
        for start in range(0, numbers.size, _CHUNK):
            chunk = numbers[start : start + _CHUNK]
            count = chunk.size + 1
            states = _POWERS[:count] * np.uint64(self._state) + _SUMS[:count] * np.uint64(self._increment)
            old, self._state = states[:-1], int(states[-1])
            xorshifted = (((old >> np.uint64(18)) ^ old) >> np.uint64(27)).astype(np.uint32)
            rotation = (old >> np.uint64(59)).astype(np.uint32)
            chunk[:] = xorshifted >> rotation | xorshifted << (np.uint32(32) - rotation)
        return numbers.reshape(size)

    def random(self, size: tuple[int, ...], /) -> Floats:
        """U[0, 1), below 1 in float32 too: the top 255 of the 2³² values are lowered, by less than 2⁻²⁴."""
        numbers = np.multiply(self.integers32(size), 2.0**-32, dtype=np.float64)
        return np.asarray(np.minimum(numbers, 1.0 - 2.0**-24), np.float64)  # the largest float32 below 1

    def standard_normal(self, size: tuple[int, ...], /) -> Floats:
        """N(0, 1) by the cosine branch of Box and Muller; u₁ = 0 gives 13.2, the largest."""
        normals = np.empty(math.prod(shape_of("PCG32", size)), np.float64)
        for start in range(0, normals.size, _CHUNK):
            chunk = normals[start : start + _CHUNK]
            u1, u2 = self.random((chunk.size, 2)).T
            # the smallest normal float32
            chunk[:] = np.sqrt(-2.0 * np.log(np.maximum(u1, 2.0**-126))) * np.cos(2.0 * np.pi * u2)
        return normals.reshape(size)

    def uniform(self, low: float, high: float, size: tuple[int, ...], /) -> Floats:
        """U[low, high); rounding may give ``high`` where the interval is not [0, 1), as in NumPy."""
        check_interval("PCG32.uniform", low, high)
        return np.asarray(low + (high - low) * self.random(size), np.float64)

    def normal(self, loc: float, scale: float, size: tuple[int, ...], /) -> Floats:
        """N(loc, scale²)."""
        number("PCG32.normal", "loc", loc)
        number("PCG32.normal", "scale", scale, least=0.0)
        return np.asarray(loc + scale * self.standard_normal(size), np.float64)

    def permutation(self, n: int, /) -> npt.NDArray[np.int64]:
        """The paper's shuffle of 0 … n-1: take element u32 mod (the number left), move the last to its place."""
        n = integer("PCG32.permutation", "n", n, 0, below=1 << 32)
        left = list(range(n))
        order = np.empty(n, np.int64)
        places = self.integers32((n,)) % np.arange(n, 0, -1, dtype=np.uint32)
        for position, place in enumerate(places.tolist()):
            left[place], left[-1] = left[-1], left[place]
            order[position] = left.pop()
        return order

    def shuffle(self, elements: Sequence[_Element], /) -> list[_Element]:
        """A new list of the same elements, in the order of `permutation`."""
        return [elements[place] for place in self.permutation(len(elements)).tolist()]

    @property
    def state(self) -> dict[str, int]:
        """The whole state, as JSON; set it to continue from there."""
        return {"state": self._state, "increment": self._increment}

    @state.setter
    def state(self, saved: Mapping[str, int]) -> None:
        if set(saved) != {"state", "increment"}:
            raise ArgumentError(
                explain("PCG32.state", "needs the keys 'state' and 'increment'", repr(saved), "pass what .state gave")
            )
        state, increment = (integer("PCG32.state", key, saved[key], 0, below=1 << 64) for key in ("state", "increment"))
        if increment % 2 == 0:
            raise ArgumentError(
                explain("PCG32.state", "increment is 2·stream + 1, so odd", str(increment), "pass what .state gave")
            )
        self._state, self._increment = state, increment

    def __eq__(self, other: object) -> bool:
        return self.state == other.state if isinstance(other, PCG32) else NotImplemented

    def __repr__(self) -> str:
        return f"<PCG32 stream={self._increment >> 1} state={self._state:#018x}>"
