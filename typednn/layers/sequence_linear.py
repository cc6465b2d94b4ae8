"""SequenceLinear: one affine map, applied at every position of a sequence, or to every row of a batch.

y = x weightᵀ + bias       dx = dy weight    dweight = Σ dyᵀ x    dbias = Σ dy       Σ over the batch and all positions

x (batch, in_features) or (batch, time, in_features)   y likewise with out_features   weight (out_features, in_features)
Keeps x, by reference, until the next forward or free_cache(). 2·batch·time·in·out flops forward, twice that backward.
Source: Vaswani et al. 2017, "Attention Is All You Need", section 3.3; default initial values as torch.nn.Linear.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arguments import integer
from typednn.arrays import AnyArray, Array1, Array2
from typednn.kernels import linear
from typednn.kernels.reshape import reshape
from typednn.layer import Positionwise, Rows
from typednn.module.fields import Kept, Parameter
from typednn.module.gradients import ElementwiseGrad, Gradient
from typednn.random import Initialiser, Rng


@final
@dataclass(frozen=True, slots=True)
class SequenceLinearGrad(Gradient):
    """The loss's derivative by each parameter."""

    weight: Float[Array2, "out_features in_features"]
    bias: Float[Array1, " out_features"] | None


@final
class SequenceLinear(Positionwise[SequenceLinearGrad]):
    """`Linear` for ``batch features`` and for ``batch time features``; ``bias_init="same"`` draws the bias as the
    weight, after it.
    """

    weight: Parameter[Float[Array2, "{self.out_features} {self.in_features}"]]
    bias: Parameter[Float[Array1, " {self.out_features}"] | None]
    _x: Kept[Float[AnyArray, "*batch {self.in_features}"]]

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        *,
        weight_init: str | Initialiser = "kaiming_uniform",
        bias_init: str | Initialiser = "same",
        rng: Rng | None = None,
    ) -> None:
        self.in_features: int = integer("SequenceLinear", "in_features", in_features)
        self.out_features: int = integer("SequenceLinear", "out_features", out_features)
        self.initialise_with(weight=weight_init, bias=weight_init if bias_init == "same" else bias_init)
        if not bias:
            self.bias = None
        if rng is not None:
            self.init(rng)

    def forward(self, x: Float[Rows, "*batch {self.in_features}"]) -> Float[Rows, "*batch {self.out_features}"]:
        self._x = x
        y: Rows = reshape(linear.forward(_rows(x), self.weight, self.bias), (*x.shape[:-1], self.out_features))
        return y

    def backward(
        self, next_grad: Float[Rows, "*batch {self.out_features}"]
    ) -> ElementwiseGrad[Rows, SequenceLinearGrad]:
        dx, dweight, dbias = linear.backward(_rows(next_grad), _rows(self._x), self.weight)
        return ElementwiseGrad(
            reshape(dx, self._x.shape), SequenceLinearGrad(dweight, None if self.bias is None else dbias)
        )


def _rows(x: Float[AnyArray, "*batch features"]) -> Float[Array2, "rows features"]:
    """Every position as a row."""
    rows: Array2 = reshape(x, (-1, x.shape[-1]))
    return rows
