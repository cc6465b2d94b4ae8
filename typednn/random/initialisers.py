"""Initialisers: the rules for the first numbers of a parameter, each a value that is called with a generator."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from types import MappingProxyType
from typing import Final, Literal, Protocol, TypeAlias, final, runtime_checkable

import numpy as np

from typednn.arguments import integer, number
from typednn.errors import ArgumentError, closest, explain
from typednn.random.generator import Floats, Rng, check_interval

Fan: TypeAlias = Literal["in", "out"]


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
            integer("Fans", name, value, below=1 << 63)

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
        check_interval("Uniform", self.low, self.high)

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
        near = closest(lower, _NAMED) or next((name for name in _NAMED if lower and name.startswith(lower)), "")
        cure = f"did you mean {near!r}?" if near else "or pass a rule, such as Normal(0.02)"
        raise ArgumentError(
            explain("initialiser", f"a name is one of {', '.join(_NAMED)}", repr(name_or_object), cure), argument
        )
    if isinstance(name_or_object, type):
        raise ArgumentError(
            explain("initialiser", "expects a rule", repr(name_or_object), f"write {name_or_object.__name__}(...)"),
            argument,
        )
    if not callable(name_or_object):
        raise ArgumentError(
            explain("initialiser", "expects a name or a rule", repr(name_or_object), "pass HeNormal() or 'he_normal'"),
            argument,
        )
    return name_or_object
