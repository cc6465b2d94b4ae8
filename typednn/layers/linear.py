"""Linear: one affine map, applied to every row of a batch.

y = x weightᵀ + bias       dx = dy weight    dweight = dyᵀ x    dbias = Σ_batch dy

x (batch, in_features)   y (batch, out_features)   weight (out_features, in_features)   bias (out_features)
Keeps x, by reference, until the next forward or free_cache(). 2·batch·in·out flops forward, twice that backward.
Source: "Deep Learning Implementation With Rust", eqs 22-24; default initial values as torch.nn.Linear.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arguments import integer
from typednn.arrays import Array1, Array2
from typednn.kernels import linear
from typednn.layer import Layer, S
from typednn.module.fields import Kept, Parameter
from typednn.module.gradients import Gradient
from typednn.random import Initialiser, Rng


@final
@dataclass(frozen=True, slots=True)
class LinearGrad(Gradient):
    """The loss's derivative by each quantity, under that quantity's own name."""

    input: Float[Array2, "batch in_features"]
    weight: Float[Array2, "out_features in_features"]
    bias: Float[Array1, " out_features"] | None


@final
class Linear(Layer[Array2, Array2, LinearGrad, S]):
    """``in_features`` in, ``out_features`` out; ``bias_init="same"`` draws the bias as the weight, after it."""

    weight: Parameter[Float[Array2, "{self.out_features} {self.in_features}"]]
    bias: Parameter[Float[Array1, " {self.out_features}"] | None]
    _x: Kept[Float[Array2, "batch {self.in_features}"]]

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
        self.in_features: int = integer("Linear", "in_features", in_features)
        self.out_features: int = integer("Linear", "out_features", out_features)
        self.initialise_with(weight=weight_init, bias=weight_init if bias_init == "same" else bias_init)
        if not bias:
            self.bias = None
        if rng is not None:
            self.init(rng)

    def forward(self, x: Float[Array2, "batch {self.in_features}"]) -> Float[Array2, "batch {self.out_features}"]:
        self._x = x
        return linear.forward(x, self.weight, self.bias)

    def backward(self, next_grad: Float[Array2, "batch {self.out_features}"]) -> LinearGrad:
        dx, dweight, dbias = linear.backward(next_grad, self._x, self.weight)
        return LinearGrad(dx, dweight, None if self.bias is None else dbias)

    # update is inherited: optimizer.step(weights, derivative) once per Parameter, in order
