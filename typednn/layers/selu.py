"""SELU: an ELU with the two constants that keep the mean at 0 and the variance at 1 from layer to layer.

y = λx where x > 0, else λα (exp x - 1)       dx = λ dy where x > 0, else λα exp(x) dy       λ = 1.0507…, α = 1.6732…

Any shape. Keeps x, by reference.
Source: Klambauer, Unterthiner, Mayr and Hochreiter 2017, "Self-Normalizing Neural Networks", equation 2 and the
footnote to it; torch.nn.SELU.
"""

from typing import final

from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.kernels.linear_units import elu
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad

_ALPHA = 1.6732632423543772
_SCALE = 1.0507009873554805


@final
class SELU(Elementwise[None]):
    """For weights of mean 0 and variance 1/in_features."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return elu.forward(x, _ALPHA, _SCALE)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(elu.backward(next_grad, self._x, _ALPHA, _SCALE), None)
