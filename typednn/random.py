"""Random numbers: the protocol of generators, the paper's generator, gpt.c's, and the rules for initial weights.

``Rng`` is the type of a function's generator. `numpy.random.default_rng()` is one, and the faster; `PCG32` is the
paper's own, and reproduces its experiment draw by draw. There is no global generator: a generator is always an
argument. What only draws tokens needs less of one, `Draws`; gpt.c's `XorShift64` has just that.

An initialiser is a value, such as ``HeNormal()`` or its name ``"he_normal"``; called, it gives float64 numbers in
row-major order (the first of the shape's axes moves slowest), which the layer rounds to its own precision.

Sources: "Deep Learning Implementation With Rust", eqs 48-53 and 55; M. O'Neill, "PCG: A Family of Simple Fast
Space-Efficient Statistically Good Algorithms for Random Number Generation" (2014); S. Vigna, "An experimental exploration of Marsaglia's
xorshift generators, scrambled" (2016); each rule names its own.
"""

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from numbers import Integral
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeAlias, TypeVar, final, runtime_checkable

import numpy as np
import numpy.typing as npt

from typednn.arguments import number
from typednn.errors import ArgumentError, explain

__all__ = [
    "PCG32",
    "Constant",
    "Draws",
    "Fan",
    "Fans",
    "HeNormal",
    "HeUniform",
    "Initialiser",
    "KaimingNormal",
    "KaimingUniform",
    "Normal",
    "Ones",
    "Rng",
    "Seed",
    "Uniform",
    "XavierNormal",
    "XavierUniform",
    "XorShift64",
    "Zeros",
    "initialiser",
]

Floats: TypeAlias = npt.NDArray[np.float64]
Fan: TypeAlias = Literal["in", "out"]
_Element = TypeVar("_Element")


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


# --- checks --------------------------------------------------------------------------------------------------------


def _integer(where: str, name: str, value: object, limit: int, *, least: int = 0, argument: str = "") -> int:
    if isinstance(value, bool) or not isinstance(value, Integral) or not least <= int(value) < limit:
        raise ArgumentError(explain(where, f"{name} is an integer from {least} to {limit - 1}", repr(value)), argument or name)
    return int(value)


def _shape(where: str, size: tuple[int, ...]) -> tuple[int, ...]:
    if not isinstance(size, tuple):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers without a type checker
        raise ArgumentError(explain(where, "size is a tuple of integers", repr(size), "write (3,) for three numbers"), "size")
    return tuple(_integer(where, "each of size", axis, 1 << 63, argument="size") for axis in size)


def _check_interval(where: str, low: float, high: float) -> None:
    number(where, "low", low)
    number(where, "high", high)
    if low > high:
        raise ArgumentError(explain(where, "low is at most high", f"low={low!r}, high={high!r}", "swap them"))


@dataclass(frozen=True, slots=True)
class _Checked:
    """Base of the initialisers: fields of one name have one domain in all of them."""

    def __post_init__(self) -> None:
        for field in fields(self):
            where, value = type(self).__name__, getattr(self, field.name)
            if field.name != "fan":
                number(where, field.name, value, least=0.0 if field.name in ("std", "gain") else -math.inf)
            elif value not in ("in", "out"):
                cure = "'in' keeps the variance going forward, 'out' going backward"
                raise ArgumentError(explain(where, "fan is 'in' or 'out'", repr(value), cure), "fan")


# --- the paper's generator -----------------------------------------------------------------------------------------

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
        seed = _integer("PCG32", "seed", seed, 1 << 64)
        self._increment = _integer("PCG32", "stream", stream, 1 << 63) << 1 | 1
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
        numbers = np.empty(math.prod(_shape("PCG32", size)), np.uint32)
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
        normals = np.empty(math.prod(_shape("PCG32", size)), np.float64)
        for start in range(0, normals.size, _CHUNK):
            chunk = normals[start : start + _CHUNK]
            u1, u2 = self.random((chunk.size, 2)).T
            chunk[:] = np.sqrt(-2.0 * np.log(np.maximum(u1, 2.0**-126))) * np.cos(2.0 * np.pi * u2)  # the smallest normal float32
        return normals.reshape(size)

    def uniform(self, low: float, high: float, size: tuple[int, ...], /) -> Floats:
        """U[low, high); rounding may give ``high`` where the interval is not [0, 1), as in NumPy."""
        _check_interval("PCG32.uniform", low, high)
        return np.asarray(low + (high - low) * self.random(size), np.float64)

    def normal(self, loc: float, scale: float, size: tuple[int, ...], /) -> Floats:
        """N(loc, scale²)."""
        number("PCG32.normal", "loc", loc)
        number("PCG32.normal", "scale", scale, least=0.0)
        return np.asarray(loc + scale * self.standard_normal(size), np.float64)

    def permutation(self, n: int, /) -> npt.NDArray[np.int64]:
        """The paper's shuffle of 0 … n-1: take element u32 mod (the number left), move the last to its place."""
        n = _integer("PCG32.permutation", "n", n, 1 << 32)
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
            raise ArgumentError(explain("PCG32.state", "needs the keys 'state' and 'increment'", repr(saved), "pass what .state gave"))
        state, increment = (_integer("PCG32.state", key, saved[key], 1 << 64) for key in ("state", "increment"))
        if increment % 2 == 0:
            raise ArgumentError(explain("PCG32.state", "increment is 2·stream + 1, so odd", str(increment), "pass what .state gave"))
        self._state, self._increment = state, increment

    def __eq__(self, other: object) -> bool:
        return self.state == other.state if isinstance(other, PCG32) else NotImplemented

    def __repr__(self) -> str:
        return f"<PCG32 stream={self._increment >> 1} state={self._state:#018x}>"


# --- gpt.c's generator ---------------------------------------------------------------------------------------------


@final
class XorShift64:
    """xorshift64*, with which gpt.c draws tokens; ``seed`` is 1 to 2⁶⁴ - 1, gpt.c's own is 1337.

    x ← x ^ x >> 12,  x ← x ^ x << 25,  x ← x ^ x >> 27  mod 2⁶⁴      x: the seed, then the state
    u32 = (x · 0x2545F4914F6CDD1D mod 2⁶⁴) >> 32       u = (u32 >> 8) / 2²⁴
    """

    __slots__ = ("_state",)

    def __init__(self, seed: int = 1337) -> None:
        self._state = _integer("XorShift64", "seed", seed, 1 << 64, least=1)  # 0 would stay 0

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
        count = math.prod(_shape("XorShift64", size))
        return np.array([self.next_uint32() >> 8 for _ in range(count)], np.float64).reshape(size) / 2.0**24

    def __repr__(self) -> str:
        return f"<XorShift64 state={self._state:#018x}>"


# --- initialisers --------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True, slots=True)
class Fans:
    """How many inputs one output of a weight sums (``fan_in``), and how many outputs one input reaches.

    Linear: in_features, out_features. Conv2D: in_channels·kh·kw, out_channels·kh·kw. The layer gives them,
    as they do not follow from a shape.
    """

    fan_in: int
    fan_out: int

    def __post_init__(self) -> None:
        for name, value in (("fan_in", self.fan_in), ("fan_out", self.fan_out)):
            _integer("Fans", name, value, 1 << 63, least=1)

    def of(self, fan: Fan) -> int:
        """The one that ``fan`` names."""
        return self.fan_in if fan == "in" else self.fan_out


@runtime_checkable
class Initialiser(Protocol):
    """A rule that gives a new parameter of ``shape`` its numbers, drawn from ``rng``."""

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        """Return new float64 numbers of ``shape``."""
        ...


@final
@dataclass(frozen=True, slots=True)
class Constant(_Checked):
    """``value`` everywhere; draws nothing."""

    value: float

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        return np.full(shape, self.value, np.float64)


@final
@dataclass(frozen=True, slots=True)
class Zeros:
    """0 everywhere; draws nothing. For biases."""

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        return np.zeros(shape, np.float64)


@final
@dataclass(frozen=True, slots=True)
class Ones:
    """1 everywhere; draws nothing. For a norm's scale, and the paper's Linear before ``random_init``."""

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        return np.ones(shape, np.float64)


@final
@dataclass(frozen=True, slots=True)
class Normal(_Checked):
    """N(mean, std²), whatever the fans."""

    std: float
    mean: float = 0.0

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        return rng.normal(self.mean, self.std, shape)


@final
@dataclass(frozen=True, slots=True)
class Uniform:
    """U[low, high), whatever the fans."""

    low: float
    high: float

    def __post_init__(self) -> None:
        _check_interval("Uniform", self.low, self.high)

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        return rng.uniform(self.low, self.high, shape)


@final
@dataclass(frozen=True, slots=True)
class HeNormal(_Checked):
    """N(0, 2/fan): the paper's eq 55. Source: He et al. 2015, "Delving Deep into Rectifiers", eq 10."""

    fan: Fan = "in"

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        return rng.normal(0.0, math.sqrt(2.0 / fans.of(self.fan)), shape)


@final
@dataclass(frozen=True, slots=True)
class HeUniform(_Checked):
    """U(±√(6/fan)): the variance of `HeNormal`."""

    fan: Fan = "in"

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        bound = math.sqrt(6.0 / fans.of(self.fan))
        return rng.uniform(-bound, bound, shape)


@final
@dataclass(frozen=True, slots=True)
class XavierNormal(_Checked):
    """N(0, gain²·2/(fan_in + fan_out)). Source: Glorot & Bengio 2010, eq 12."""

    gain: float = 1.0

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        return rng.normal(0.0, self.gain * math.sqrt(2.0 / (fans.fan_in + fans.fan_out)), shape)


@final
@dataclass(frozen=True, slots=True)
class XavierUniform(_Checked):
    """U(±gain·√(6/(fan_in + fan_out))). Source: Glorot & Bengio 2010, eq 16."""

    gain: float = 1.0

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        bound = self.gain * math.sqrt(6.0 / (fans.fan_in + fans.fan_out))
        return rng.uniform(-bound, bound, shape)


@final
@dataclass(frozen=True, slots=True)
class KaimingUniform(_Checked):
    """U(±√(6/((1 + a²)·fan))), ``a`` the slope left of 0; a = √5 gives U(±1/√fan), PyTorch's Linear and Conv."""

    a: float = math.sqrt(5.0)
    fan: Fan = "in"

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        bound = math.sqrt(6.0 / ((1.0 + self.a**2) * fans.of(self.fan)))
        return rng.uniform(-bound, bound, shape)


@final
@dataclass(frozen=True, slots=True)
class KaimingNormal(_Checked):
    """N(0, 2/((1 + a²)·fan)), ``a`` the slope left of 0. Source: He et al. 2015, eq 15."""

    a: float = 0.0
    fan: Fan = "in"

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        return rng.normal(0.0, math.sqrt(2.0 / ((1.0 + self.a**2) * fans.of(self.fan))), shape)


@final
@dataclass(frozen=True, slots=True)
class Seed:
    """An integer below 2⁵³ and zeros: the state of a layer's own generator, its key and how often it was used."""

    def __call__(self, rng: Rng, shape: tuple[int, ...], fans: Fans) -> Floats:
        values = np.zeros(shape, np.float64)
        values[0] = np.floor(rng.random((1,))[0] * 2.0**53)
        return values


_NAMED: Final[Mapping[str, Initialiser]] = MappingProxyType(
    {
        "zeros": Zeros(),
        "ones": Ones(),
        "he_normal": HeNormal(),
        "he_uniform": HeUniform(),
        "xavier_normal": XavierNormal(),
        "xavier_uniform": XavierUniform(),
        "kaiming_uniform": KaimingUniform(),
        "kaiming_normal": KaimingNormal(),
    }
)


def initialiser(name_or_object: str | Initialiser, argument: str = "name_or_object") -> Initialiser:
    """The rule of that name, with its defaults; a rule is returned itself. Errors name ``argument`` as their cause."""
    if isinstance(name_or_object, str):
        if name_or_object in _NAMED:
            return _NAMED[name_or_object]
        lower = name_or_object.lower()
        close = difflib.get_close_matches(lower, _NAMED, n=1) or [name for name in _NAMED if lower and name.startswith(lower)]
        cure = f"did you mean {close[0]!r}?" if close else "or pass a rule, such as Normal(0.02)"
        raise ArgumentError(explain("initialiser", f"a name is one of {', '.join(_NAMED)}", repr(name_or_object), cure), argument)
    if isinstance(name_or_object, type):
        raise ArgumentError(
            explain("initialiser", "expects a rule", repr(name_or_object), f"write {name_or_object.__name__}(...)"), argument
        )
    if not callable(name_or_object):
        raise ArgumentError(
            explain("initialiser", "expects a name or a rule", repr(name_or_object), "pass HeNormal() or 'he_normal'"), argument
        )
    return name_or_object
