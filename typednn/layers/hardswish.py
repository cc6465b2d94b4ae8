"""Hardswish: SiLU without an exponential, of two straight lines and a parabola.

y = x min(max(x + 3, 0), 6)/6       dx = 0 for x <= -3, dy for x >= 3, else dy (x/3 + 1/2)

Any shape. Keeps x, by reference.
Source: Howard et al. 2019, "Searching for MobileNetV3"; torch.nn.Hardswish.
"""

from typing import final

from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.kernels.linear_units import hardswish
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class Hardswish(Elementwise[None]):
    """Fits between any two layers."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return hardswish.forward(x)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(hardswish.backward(next_grad, self._x), None)
