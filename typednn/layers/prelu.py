"""PReLU: negative numbers keep a slope that is learnt.

y = x where x > 0, else slope·x       dx = dy where x > 0, else slope·dy       dslope = Σ dy x over x <= 0

Any shape; slope (1). Keeps x, by reference.
Source: He et al. 2015, "Delving Deep into Rectifiers"; the initial slope is ml-rs's 0.01 (torch.nn.PReLU begins at
0.25).
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arguments import number
from typednn.arrays import AnyArray, Array1
from typednn.kernels import prelu
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept, Parameter
from typednn.module.gradients import ElementwiseGrad, Gradient
from typednn.random import Constant, Rng


@final
@dataclass(frozen=True, slots=True)
class PReLUGrad(Gradient):
    """The loss's derivative by the slope; ``grad.parameters.slope``."""

    slope: Float[Array1, "1"]


@final
class PReLU(Elementwise[PReLUGrad]):
    """One slope for all numbers, beginning at ``init``."""

    slope: Parameter[Float[Array1, "1"]]
    _x: Kept[Float[AnyArray, "*shape"]]

    def __init__(self, *, init: float = 0.01, rng: Rng | None = None) -> None:
        self.initialise_with(slope=Constant(number("PReLU", "init", init)))
        if rng is not None:
            self.init(rng)

    def forward(self, x: Float[A, "*shape"]) -> Float[A, "*shape"]:
        self._x = x
        return prelu.forward(x, self.slope)

    def backward(self, next_grad: Float[A, "*shape"]) -> ElementwiseGrad[A, PReLUGrad]:
        dx, dslope = prelu.backward(next_grad, self._x, self.slope)
        return ElementwiseGrad(dx, PReLUGrad(dslope))
