"""LayerNorm: every row of features with mean 0 and variance 1.

y = h·weight + bias    h = (x - mean)·r    r = 1/√(variance + eps)    mean and variance of each row's n features
dx = r·(g - Σ g / n - h·Σ g·h / n)      g = dy·weight      dweight = Σ dy·h      dbias = Σ dy, over all rows

x, y (*batch, features), any rank; the variance is divided by n. Keeps x, by reference. 8 operations per number forward,
16 backward.
Source: Ba, Kiros and Hinton 2016, "Layer Normalization"; arguments and names as torch.nn.LayerNorm, over the last axis
alone.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float

from typednn.arguments import flag, integer, number
from typednn.arrays import AnyArray, Array1
from typednn.kernels import layer_norm
from typednn.layer import A, Elementwise
from typednn.module.fields import Kept, Parameter
from typednn.module.gradients import ElementwiseGrad, Gradient
from typednn.random import Rng


@final
@dataclass(frozen=True, slots=True)
class LayerNormGrad(Gradient):
    """The loss's derivative by each parameter; ``grad.parameters.weight``."""

    weight: Float[Array1, " features"] | None
    bias: Float[Array1, " features"] | None


@final
class LayerNorm(Elementwise[LayerNormGrad]):
    """``normalized_shape`` is the size of the last axis; ``elementwise_affine`` False leaves both parameters out."""

    weight: Parameter[Float[Array1, " {self.normalized_shape}"] | None]
    bias: Parameter[Float[Array1, " {self.normalized_shape}"] | None]
    _x: Kept[Float[AnyArray, "*batch {self.normalized_shape}"]]

    def __init__(
        self,
        normalized_shape: int,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        *,
        rng: Rng | None = None,
    ) -> None:
        self.normalized_shape: int = integer("LayerNorm", "normalized_shape", normalized_shape)
        self.eps: float = number("LayerNorm", "eps", eps, least=0.0)
        self.initialise_with(weight="ones", bias="zeros")
        if not flag("LayerNorm", "elementwise_affine", elementwise_affine):
            self.weight = None
        if not (elementwise_affine and bias):
            self.bias = None
        if rng is not None:
            self.init(rng)

    def forward(self, x: Float[A, "*batch {self.normalized_shape}"]) -> Float[A, "*batch {self.normalized_shape}"]:
        self._x = x
        return layer_norm.forward(x, self.weight, self.bias, self.eps)

    def backward(self, next_grad: Float[A, "*batch {self.normalized_shape}"]) -> ElementwiseGrad[A, LayerNormGrad]:
        dx, dweight, dbias = layer_norm.backward(next_grad, self._x, self.weight, self.eps)
        return ElementwiseGrad(
            dx, LayerNormGrad(None if self.weight is None else dweight, None if self.bias is None else dbias)
        )
