"""GELU: x, weighted by the probability that a normal number is smaller.

none   y = x Φ(x)                                               dx = dy (Φ(x) + x φ(x))
tanh   y = x (1 + tanh v)/2, v = √(2/π)(x + 0.044715 x³)        dx = dy ((1 + tanh v)/2 + x (1 - tanh² v)/2 v')

Φ is the normal distribution function, φ its density; the second form is near the first, and GPT-2's.

Any shape. Keeps x, by reference.
Source: Hendrycks and Gimpel 2016, "Gaussian Error Linear Units"; torch.nn.GELU.
"""

from typing import Literal, final

from jaxtyping import Float

from typednn.arguments import choice
from typednn.arrays import AnyArray
from typednn.kernels.linear_units import gelu, gelu_tanh
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept
from typednn.module.gradients import ElementwiseGrad


@final
class GELU(Elementwise[None]):
    """``approximate="tanh"`` for weights that were learnt with that form."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def __init__(self, approximate: Literal["none", "tanh"] = "none") -> None:
        self.approximate: Literal["none", "tanh"] = choice("GELU", "approximate", approximate, ("none", "tanh"))

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return (gelu_tanh if self.approximate == "tanh" else gelu).forward(x)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        return ElementwiseGrad((gelu_tanh if self.approximate == "tanh" else gelu).backward(next_grad, self._x), None)
