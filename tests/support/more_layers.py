"""Layers that typednn itself has none of: integers in, and several inputs, one of them a mask that may be None."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Integer

from typednn import AnyArray, Array2, Array3, FirstLayer, Gradient, IntArray2, Kept, MultiInput, Parameter, S
from typednn.arrays import namespace
from typednn.random import Normal


@dataclass(frozen=True, slots=True)
class EmbeddingGrad(Gradient):
    input: None
    weight: Float[Array2, "vocab features"]


class Embedding(FirstLayer[IntArray2, Array3, EmbeddingGrad, S]):
    """Each token becomes its row of weight."""

    weight: Parameter[Float[Array2, "{self.vocab} {self.features}"]]
    _tokens: Kept[Integer[IntArray2, "batch time"]]

    def __init__(self, vocab: int, features: int) -> None:
        self.vocab, self.features = vocab, features
        self.initialise_with(weight=Normal(0.5))

    def forward(self, x: Integer[IntArray2, "batch time"]) -> Float[Array3, "batch time {self.features}"]:
        self._tokens = x
        rows: Array3 = self.weight[x]
        return rows

    def backward(self, next_grad: Float[Array3, "batch time {self.features}"]) -> EmbeddingGrad:
        xp = namespace(next_grad)
        # A token may occur twice: the sum over all places at which it stands.
        places = (self._tokens[..., None] == xp.arange(self.vocab)).astype(next_grad.dtype)
        weight: Any = xp.einsum("btv,btf->vf", places, next_grad)
        return EmbeddingGrad(None, weight)


@dataclass(frozen=True, slots=True)
class MaskedGateGrad(Gradient, inputs=("value", "gate", "mask")):
    value: Float[Array2, "batch features"]
    gate: Float[Array2, "batch features"]
    mask: None
    scale: Float[Array2, "1 features"]


class MaskedGate(MultiInput[Array2, MaskedGateGrad]):
    """y = value·gate·scale where the mask is set, or everywhere where there is none."""

    scale: Parameter[Float[Array2, "1 {self.features}"]]
    _value: Kept[Float[Array2, "batch {self.features}"]]
    _gate: Kept[Float[Array2, "batch {self.features}"]]
    _mask: Kept[Any]

    def __init__(self, features: int) -> None:
        self.features = features
        self.initialise_with(scale="ones")

    def forward(
        self,
        value: Float[Array2, "batch {self.features}"],
        gate: Float[Array2, "batch {self.features}"],
        mask: Bool[AnyArray, "batch {self.features}"] | None = None,
    ) -> Float[Array2, "batch {self.features}"]:
        self._value, self._gate, self._mask = value, gate, mask
        y: Array2 = masked(value * gate * self.scale, mask)
        return y

    def backward(self, next_grad: Float[Array2, "batch {self.features}"]) -> MaskedGateGrad:
        dy = masked(next_grad, self._mask)
        scale: Any = (dy * self._value * self._gate).sum(axis=0, keepdims=True)
        return MaskedGateGrad(dy * self._gate * self.scale, dy * self._value * self.scale, None, scale)


def masked(x: Any, mask: Any) -> Any:
    return x if mask is None else x * mask.astype(x.dtype)


def tokens(vocab: int, shape: tuple[int, ...], seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, vocab, shape)
