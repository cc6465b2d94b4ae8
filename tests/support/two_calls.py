"""A model with two inputs that calls two layers, or one twice."""

from dataclasses import dataclass
from typing import Any

from jaxtyping import Shaped

from typednn import Gradient, Module
from typednn.arrays import AnyArray
from typednn.layer import MultiInput


@dataclass(frozen=True, slots=True)
class TwiceGrad(Gradient, inputs=("left", "right")):
    left: Shaped[AnyArray, "batch *shape"]
    right: Shaped[AnyArray, "batch *shape"]
    first: Any
    second: Any


class Twice(MultiInput[AnyArray, TwiceGrad]):
    """y = first(left) + second(right)."""

    def __init__(self, first: Module, second: Module) -> None:
        self.first, self.second = first, second

    def forward(
        self, left: Shaped[AnyArray, "batch *shape"], right: Shaped[AnyArray, "batch *shape"]
    ) -> Shaped[AnyArray, "batch *output"]:
        total: AnyArray = self.first.forward(left) + self.second.forward(right)
        return total

    def backward(self, next_grad: Shaped[AnyArray, "batch *output"]) -> TwiceGrad:
        first, second = self.first.backward(next_grad), self.second.backward(next_grad)
        return TwiceGrad(first.input, second.input, first, second)
