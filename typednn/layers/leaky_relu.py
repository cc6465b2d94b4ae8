"""LeakyReLU: negative numbers keep a small slope.

y = x where x > 0, else negative_slope·x       dx = dy where x > 0, else negative_slope·dy

Any shape. Keeps x, by reference.
Source: torch.nn.LeakyReLU.
"""

from typing import final

from jaxtyping import Float

from typednn.arguments import number
from typednn.arrays import AnyArray
from typednn.kernels.pointwise import leaky_relu
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class LeakyReLU(Elementwise[None]):
    """``negative_slope`` is fixed; `PReLU` learns it."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def __init__(self, negative_slope: float = 0.01) -> None:
        self.negative_slope: float = number("LeakyReLU", "negative_slope", negative_slope)

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return leaky_relu.forward(x, self.negative_slope)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(leaky_relu.backward(next_grad, self._x, self.negative_slope), None)
