"""The paper's section IV as it stands: a model whose forward, backward, update and gradient are all written by the
user.

Checked by mypy --strict with the rest of this folder.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn import Array2, Gradient, Layer, Optimizer, S
from typednn.layers import Linear, LinearGrad, Sigmoid


@final
@dataclass(frozen=True)
class ByHandGrad(Gradient):
    """The derivative by the input, and those of the layers that have parameters."""

    input: Float[Array2, "batch 3"]
    first: LinearGrad
    second: LinearGrad


@final
class ByHand(Layer[Array2, Array2, ByHandGrad, S]):
    """Two layers; ``stepped`` counts the calls of its own ``update``."""

    def __init__(self) -> None:
        self.first, self.sigmoid, self.second = Linear(3, 4), Sigmoid(), Linear(4, 2)
        self.stepped = 0

    def forward(self, x: Float[Array2, "batch 3"]) -> Float[Array2, "batch 2"]:
        return self.second.forward(self.sigmoid.forward(self.first.forward(x)))

    def backward(self, next_grad: Float[Array2, "batch 2"]) -> ByHandGrad:
        second = self.second.backward(next_grad)
        first = self.first.backward(self.sigmoid.backward(second.input).input)
        return ByHandGrad(first.input, first, second)

    def update(self, optimizer: Optimizer, grad: ByHandGrad) -> None:
        self.stepped += 1
        self.first.update(optimizer, grad.first)
        self.second.update(optimizer, grad.second)
