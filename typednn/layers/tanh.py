"""Tanh: any number becomes one between -1 and 1.

y = tanh x       dx = dy (1 - y²)

Any shape. Keeps y.
Source: torch.nn.Tanh.
"""

from typing import final

from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.kernels.pointwise import tanh
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class Tanh(Elementwise[None]):
    """Fits between any two layers."""

    _y: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._y = y = tanh.forward(x)
        return y

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(tanh.backward(next_grad, self._y), None)
