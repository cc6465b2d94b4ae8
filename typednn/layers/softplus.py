"""Softplus: a ReLU without a corner, always positive.

y = log(1 + exp(beta x))/beta       dx = dy/(1 + exp(-beta x))       y = x and dx = dy where beta x > threshold

Any shape. Keeps x, by reference.
Source: Dugas et al. 2000, "Incorporating Second-Order Functional Knowledge for Better Option Pricing";
torch.nn.Softplus.
"""

from typing import final

from jaxtyping import Float

from typednn.arguments import number
from typednn.arrays import AnyArray
from typednn.errors import ArgumentError, explain
from typednn.kernels.linear_units import softplus
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class Softplus(Elementwise[None]):
    """The corner is the sharper the larger ``beta`` is."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        self.beta: float = number("Softplus", "beta", beta)
        if self.beta <= 0:
            raise ArgumentError(explain("Softplus", "beta must be positive", repr(beta)), "beta")
        self.threshold: float = number("Softplus", "threshold", threshold)

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return softplus.forward(x, self.beta, self.threshold)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad(softplus.backward(next_grad, self._x, self.beta, self.threshold), None)
