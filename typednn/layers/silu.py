"""SiLU: x, weighted by its sigmoid; also called swish.

y = x σ(x)       dx = dy (σ(x) + x σ(x)(1 - σ(x)))       σ(x) = 1/(1 + exp(-x))

Any shape. Keeps x, by reference.
Source: Elfwing, Uchibe and Doya 2017, "Sigmoid-Weighted Linear Units for Neural Network Function Approximation in
Reinforcement Learning"; torch.nn.SiLU.
"""

from typing import final

from jaxtyping import Float

from typednn.arrays import AnyArray
from typednn.kernels.linear_units import silu
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class SiLU(Elementwise[None]):
    """Fits between any two layers."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return silu.forward(x)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(silu.backward(next_grad, self._x), None)
