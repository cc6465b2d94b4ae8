"""ReLU: negative numbers become zero.

y = max(x, 0)       dx = dy where x > 0, else 0 (also at 0)

Any shape. Keeps x, by reference.
Source: "Deep Learning Implementation With Rust", eqs 30-31.
"""

from typing import final

from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.kernels.pointwise import relu
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class ReLU(Elementwise[None]):
    """Fits between any two layers."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return relu.forward(x)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(relu.backward(next_grad, self._x), None)
