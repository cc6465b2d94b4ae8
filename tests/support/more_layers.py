"""Layers that typednn itself has none of: several inputs, one of them a mask that may be None. And tokens."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from typednn import AnyArray, Array2, Gradient, Kept, MultiInput, Parameter


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
