"""An elementwise layer of one's own keeps every size, so that a head for 20 features meets 30."""

from typing import Any

import numpy as np
from jaxtyping import Float

from typednn import AnyArray, Elementwise, ElementwiseGrad, Input, Kept
from typednn.layer import A
from typednn.layers import Linear


class Softsign(Elementwise[None]):
    """y = x / (1 + |x|)."""

    _x: Kept[Float[AnyArray, "*shape"]]

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        below: Any = 1.0 + np.abs(x)
        y: A = x / below
        return y

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, None]:
        x: Any = self._x
        dx: A = next_grad / (1.0 + np.abs(x)) ** 2
        return ElementwiseGrad(dx, None)


model = Input(10) >> Linear(10, 30) >> Softsign() >> Softsign() >> Linear(20, 2)  # shape: expects 20 features, gets 30
