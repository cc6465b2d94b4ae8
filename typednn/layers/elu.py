"""ELU: negative numbers tend to -alpha.

y = x where x > 0, else alpha (exp x - 1)       dx = dy where x > 0, else alpha exp(x) dy

Any shape. Keeps x, by reference.
Source: Clevert, Unterthiner and Hochreiter 2015, "Fast and Accurate Deep Network Learning by Exponential Linear Units";
torch.nn.ELU.
"""

from typing import final

from jaxtyping import Float

from typednn.arguments import number
from typednn.arrays import AnyArray
from typednn.kernels.linear_units import elu
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class ELU(Elementwise[None]):
    """``alpha`` is fixed."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha: float = number("ELU", "alpha", alpha)

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return elu.forward(x, self.alpha, 1.0)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(elu.backward(next_grad, self._x, self.alpha, 1.0), None)
