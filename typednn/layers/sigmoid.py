"""Sigmoid: any number becomes one between 0 and 1.

y = 1/(1 + exp(-x))       dx = dy y (1 - y)

Any shape. Keeps y. Large |x| does not overflow.
Source: "Deep Learning Implementation With Rust", eqs 32-33.
"""

from typing import final

from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.kernels.pointwise import sigmoid
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class Sigmoid(Elementwise[None]):
    """Fits between any two layers."""

    _y: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._y = y = sigmoid.forward(x)
        return y

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(sigmoid.backward(next_grad, self._y), None)
