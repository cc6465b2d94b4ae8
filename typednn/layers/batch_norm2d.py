"""BatchNorm2d: every channel of images with mean 0 and variance 1 over the batch.

y = h·weight + bias    h = (x - mean)·r    r = 1/√(variance + eps)    mean = Σ x / n    variance = Σ (x - mean)² / n
dx = weight·r·(dy - (dbias + h·dweight) / n)     dweight = Σ dy·h              dbias = Σ dy

x, y (batch, height, width, channels); sums over the n pixels of all images. In training
running_mean += momentum·(mean - running_mean), and running_var likewise with n/(n - 1) times the variance. In eval,
mean and variance are the running ones. Keeps x, by reference, and mean and variance. 6 operations per number forward,
10 backward.
Source: Ioffe and Szegedy 2015, "Batch Normalization: Accelerating Deep Network Training by Reducing Internal Covariate
Shift"; arguments, names and rules as torch.nn.BatchNorm2d.
"""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float, Integer

from typednn.arguments import flag, integer, number
from typednn.arrays import Array1, Array4, IntArray0
from typednn.layer import Layer, S
from typednn.module.fields import Buffer, Kept, Parameter
from typednn.module.gradients import Gradient
from typednn.module.running_statistics import derivatives, inferred, infers, normalised
from typednn.random import Rng


@final
@dataclass(frozen=True, slots=True)
class BatchNorm2dGrad(Gradient):
    """The loss's derivative by each quantity, under that quantity's own name."""

    input: Float[Array4, "batch height width channels"]
    weight: Float[Array1, " channels"] | None
    bias: Float[Array1, " channels"] | None


@final
class BatchNorm2d(Layer[Array4, Array4, BatchNorm2dGrad, S]):
    """``num_features`` channels; with ``affine`` False no parameters, with ``track_running_stats`` False no running
    statistics.
    """

    weight: Parameter[Float[Array1, " {self.num_features}"] | None]
    bias: Parameter[Float[Array1, " {self.num_features}"] | None]
    running_mean: Buffer[Float[Array1, " {self.num_features}"] | None]
    running_var: Buffer[Float[Array1, " {self.num_features}"] | None]
    num_batches_tracked: Buffer[Integer[IntArray0, ""] | None]
    _x: Kept[Float[Array4, "batch height width {self.num_features}"]]
    _mean: Kept[Float[Array1, " {self.num_features}"]]
    _variance: Kept[Float[Array1, " {self.num_features}"]]

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        *,
        rng: Rng | None = None,
    ) -> None:
        self.num_features: int = integer("BatchNorm2d", "num_features", num_features)
        self.eps: float = number("BatchNorm2d", "eps", eps, least=0.0)
        self.momentum: float = number("BatchNorm2d", "momentum", momentum, least=0.0, most=1.0)
        self.initialise_with(weight="ones", bias="zeros", running_mean="zeros", running_var="ones")
        if not flag("BatchNorm2d", "affine", affine):
            self.weight = self.bias = None
        if not flag("BatchNorm2d", "track_running_stats", track_running_stats):
            self.running_mean = self.running_var = self.num_batches_tracked = None
        if rng is not None:
            self.init(rng)

    def forward(
        self, x: Float[Array4, "batch height width {self.num_features}"]
    ) -> Float[Array4, "batch height width {self.num_features}"]:
        y: Array4
        if infers(self):
            y = inferred(self, x)
            return y
        y, self._mean, self._variance = normalised(self, x)
        self._x = x
        return y

    def backward(self, next_grad: Float[Array4, "batch height width {self.num_features}"]) -> BatchNorm2dGrad:
        dx, dweight, dbias = derivatives(self, next_grad, self._x, self._mean, self._variance)
        return BatchNorm2dGrad(dx, *((dweight, dbias) if self.weight is not None else (None, None)))
