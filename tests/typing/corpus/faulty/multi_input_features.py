"""A MultiInput layer whose two inputs must have as many features; they come with 4 and 5."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from typednn import Array2, Gradient, Kept, MultiInput
from typednn.layers import Linear
from typednn.random import Rng


@dataclass(frozen=True)
class GateGrad(Gradient, inputs=("value", "gate")):
    value: Float[Array2, "batch features"]
    gate: Float[Array2, "batch features"]


class Gate(MultiInput[Array2, GateGrad]):
    _value: Kept[Float[Array2, "batch features"]]
    _gate: Kept[Float[Array2, "batch features"]]

    def forward(self, value: Float[Array2, "batch features"], gate: Float[Array2, "batch features"]) -> Float[Array2, "batch features"]:
        self._value, self._gate = value, gate
        return value * gate

    def backward(self, next_grad: Float[Array2, "batch features"]) -> GateGrad:
        return GateGrad(value=next_grad * self._gate, gate=next_grad * self._value)


class Gated:
    def __init__(self, rng: Rng) -> None:
        self.value, self.gate = Linear(6, 4, rng=rng), Linear(6, 5, rng=rng)
        self.product = Gate()

    def forward(self, x: Float[Array2, "batch 6"]) -> Float[Array2, "batch 4"]:
        value = self.value.forward(x)
        gate = self.gate.forward(x)
        return self.product.forward(value, gate)  # shape: 5


if __name__ == "__main__":
    rng = np.random.default_rng(0)
    Gated(rng).forward(np.ones((2, 6), np.float32))
