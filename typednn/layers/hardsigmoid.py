"""Hardsigmoid: a sigmoid of three straight lines.

y = min(max(x + 3, 0), 6)/6       dx = dy/6 where -3 < x < 3, else 0

Any shape. Keeps x, by reference.
Source: Howard et al. 2019, "Searching for MobileNetV3"; torch.nn.Hardsigmoid.
"""

from typing import final

from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.kernels.linear_units import hardsigmoid
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class Hardsigmoid(Elementwise[None]):
    """Fits between any two layers."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return hardsigmoid.forward(x)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(hardsigmoid.backward(next_grad, self._x), None)
