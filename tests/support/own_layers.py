"""Layers of a user, each of a kind of its own, in one file: nothing of typednn knows of them."""

from dataclasses import dataclass
from typing import Any, Generic, Literal, final

from jaxtyping import Float, Integer, Shaped
from typing_extensions import TypeVar

from typednn import (
    AnyArray,
    Array1,
    Array2,
    Array3,
    Elementwise,
    ElementwiseGrad,
    FirstLayer,
    Gradient,
    IntArray2,
    Kept,
    Layer,
    Parameter,
    Positionwise,
    S,
    config,
)
from typednn.arguments import integer
from typednn.arrays import namespace
from typednn.kernels.pointwise import Formula, Pointwise
from typednn.layer import A, G, In, Rows

X = TypeVar("X", covariant=True)
Inner = TypeVar("Inner", covariant=True)

# ------------------------------------------------------------------ on the last axis, of any rank, with a parameter


@final
@dataclass(frozen=True, slots=True)
class ScaleNormGrad(Gradient):
    weight: Float[Array1, "1"]


@config.register("ScaleNorm")
@final
class ScaleNorm(Elementwise[ScaleNormGrad]):
    """y = weight·x / √(Σx² + eps), over the last axis. Nguyen and Salazar 2019, "Transformers without Tears"."""

    weight: Parameter[Float[Array1, "1"]]
    _x: Kept[Float[AnyArray, "*batch {self.features}"]]

    def __init__(self, features: int, eps: float = 1e-5) -> None:
        self.features, self.eps = integer("ScaleNorm", "features", features), eps
        self.initialise_with(weight="ones")

    def forward(self, x: Float[A, "*batch {self.features}"]) -> Float[A, "*batch {self.features}"]:
        self._x = x
        y: A = x * self._scale(x) * self.weight
        return y

    def backward(self, next_grad: Float[A, "*batch {self.features}"]) -> ElementwiseGrad[A, ScaleNormGrad]:
        scale = self._scale(self._x)
        normal, dnormal = self._x * scale, next_grad * self.weight
        dx: Any = scale * (dnormal - normal * (dnormal * normal).sum(axis=-1, keepdims=True))
        weight: Any = (next_grad * normal).sum().reshape(1)
        return ElementwiseGrad(dx, ScaleNormGrad(weight))

    def _scale(self, x: Any) -> Any:
        return 1.0 / namespace(x).sqrt((x * x).sum(axis=-1, keepdims=True) + self.eps)


# -------------------------------------------------------------- on the last axis of rows and sequences, which it widens


@final
@dataclass(frozen=True, slots=True)
class WidenGrad(Gradient):
    weight: Float[Array2, "times features"]


@config.register("Widen")
@final
class Widen(Positionwise[WidenGrad]):
    """Each feature ``times`` times, with a factor for each."""

    weight: Parameter[Float[Array2, "{self.times} {self.features}"]]
    _x: Kept[Float[AnyArray, "*batch {self.features}"]]

    def __init__(self, features: int, times: int) -> None:
        self.features, self.times = features, integer("Widen", "times", times)
        self.initialise_with(weight="ones")

    def forward(self, x: Float[Rows, "*batch {self.features}"]) -> Float[Rows, "*batch {self.times}*{self.features}"]:
        self._x = x
        wide: Any = x[..., None, :] * self.weight
        y: Rows = wide.reshape(*x.shape[:-1], self.times * self.features)
        return y

    def backward(
        self, next_grad: Float[Rows, "*batch {self.times}*{self.features}"]
    ) -> ElementwiseGrad[Rows, WidenGrad]:
        wide: Any = next_grad.reshape(*self._x.shape[:-1], self.times, self.features)
        weight: Any = (wide * self._x[..., None, :]).reshape(-1, self.times, self.features).sum(axis=0)
        dx: Any = (wide * self.weight).sum(axis=-2)
        return ElementwiseGrad(dx, WidenGrad(weight))


# ------------------------------------------------------------------ around a layer


@final
@dataclass(frozen=True, slots=True)
class ScaledGrad(Gradient, Generic[X, Inner]):
    input: X
    inner: Inner
    factor: Float[Array1, "1"]


@config.register("Scaled")
@final
class Scaled(Layer[In, In, ScaledGrad[In, G], S], Generic[In, G, S]):
    """y = x + factor·inner(x), with a factor that is learnt. Bachlechner et al. 2020, "ReZero", eq 1."""

    inner: Layer[In, In, G, Literal["batch *shape -> batch *shape"]]
    factor: Parameter[Float[Array1, "1"]]
    _inner: Kept[Any]

    def __init__(self, inner: Layer[In, In, G]) -> None:
        self.inner = inner
        self.initialise_with(factor="zeros")

    def forward(self, x: Shaped[In, "batch *shape"]) -> Shaped[In, "batch *shape"]:
        y: Any = self.inner.forward(x)
        self._inner = y
        total: In = x + self.factor * y
        return total

    def backward(self, next_grad: Shaped[In, "batch *shape"]) -> ScaledGrad[In, G]:
        dy: Any = next_grad
        inner = self.inner.backward(dy * self.factor)
        return ScaledGrad(dy + inner.input, inner, (dy * self._inner).sum().reshape(1))


# ------------------------------------------------------------------ integers in


@final
@dataclass(frozen=True, slots=True)
class TokensGrad(Gradient):
    input: None
    weight: Float[Array2, "vocab features"]


@config.register("Tokens")
class Tokens(FirstLayer[IntArray2, Array3, TokensGrad, S]):
    """Each token becomes its row of weight."""

    weight: Parameter[Float[Array2, "{self.vocab} {self.features}"]]
    _tokens: Kept[Integer[IntArray2, "batch time"]]

    def __init__(self, vocab: int, features: int) -> None:
        self.vocab, self.features = vocab, features

    def forward(self, x: Integer[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.features}"]:
        self._tokens = x
        rows: Array3 = self.weight[x]
        return rows

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> TokensGrad:
        xp = namespace(next_grad)
        places = (self._tokens[..., None] == xp.arange(self.vocab)).astype(next_grad.dtype)
        weight: Any = xp.einsum("btv,btf->vf", places, next_grad)
        return TokensGrad(None, weight)


# ------------------------------------------------------------------ a pointwise op

softsign = Pointwise(
    "softsign",
    Formula(lambda xp, x: x / (1 + abs(x)), flops=3),
    Formula(lambda xp, dy, x: dy / xp.square(1 + abs(x)), arrays=2, flops=4),
)


@config.register("Softsign")
@final
class Softsign(Elementwise[None]):
    """y = x/(1 + |x|)       dx = dy/(1 + |x|)². Turian, Bergstra and Bengio 2009."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return softsign.forward(x)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(softsign.backward(next_grad, self._x), None)
